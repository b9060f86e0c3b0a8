"""Counting the parameters of models that are too large to build in a test."""

import math

import keras
import pytest

from kerasbert import Encoder, TextClassifier
from kerasbert.families import find_preset


@pytest.fixture
def count_parameters():
    """Count those of a preset's encoder, and of a classifier of two classes on top of it.

    Nothing is allocated: in this scope a variable has a shape, and its value is left for later.
    """

    def count(name):
        family, preset = find_preset(name)
        with keras.StatelessScope(initialize_variables=False):
            encoder = Encoder(preset.config, family=family.name)
            classifier = TextClassifier(encoder, num_classes=2, compile=False)
            return tuple(
                sum(math.prod(variable.shape) for variable in model.weights)
                for model in (encoder, classifier)
            )

    yield count
    keras.utils.clear_session()  # forget the variables, or the next scope would fill them
