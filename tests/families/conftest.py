"""Counting the parameters of models that are too large to build in a test."""

import math

import keras
import pytest

import kerasbert
from kerasbert.families import find_preset
from tests.families.parameter_counts import Counts


@pytest.fixture
def count_parameters():
    """Count those of a preset's encoder, and with heads on top of it, as `Counts`.

    Nothing is allocated: in this scope a variable has a shape, and its value is left for later.
    """

    def count(name):
        family, preset = find_preset(name)
        with keras.StatelessScope(initialize_variables=False):
            encoder = kerasbert.Encoder(preset.config, family=family.name)
            models = {
                "classifier": kerasbert.TextClassifier(encoder, num_classes=2, compile=False),
                "masked_lm": kerasbert.MaskedLM(encoder, compile=False),
            }
            for cls in (kerasbert.PretrainingModel, kerasbert.ReplacedTokenDetector):
                if cls.task in family.heads:
                    models["pretraining"] = cls(encoder, compile=False)
            pooler = _count(w for w in encoder.weights if w.path.startswith("pooler/"))
            counts = {
                # What has no pooler is loaded onto an encoder without one.
                task: _count(model.weights) - (0 if family.heads[model.task].has_pooler else pooler)
                for task, model in models.items()
            }
            return Counts(_count(encoder.weights), **counts)

    yield count
    keras.utils.clear_session()  # forget the variables, or the next scope would fill them


def _count(variables):
    return sum(math.prod(variable.shape) for variable in variables)
