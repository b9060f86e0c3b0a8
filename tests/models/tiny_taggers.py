"""Tiny taggers, and how what they find is compared."""

import keras
import pytest

from kerasbert import TokenClassifier, TokenClassifierPreprocessor
from tests.models import tiny_families

LABELS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]


def make_tagger(tokenizer, labels=LABELS, family="bert", changes=None, **settings):
    config = {"vocabulary_size": tokenizer.vocabulary_size(), "max_sequence_length": 70}
    config |= {"hidden_dropout": 0.0, "attention_dropout": 0.0, **(changes or {})}
    settings = {"sequence_length": 64, "buckets": (16, 32), **settings}
    model = TokenClassifier(
        tiny_families.encoder_of(family, **config),
        labels=labels,
        preprocessor=TokenClassifierPreprocessor(tokenizer, **settings),
        dropout=0.0,
    )
    model.compile(optimizer=keras.optimizers.Adam(0.02))
    return model


def assert_close(found, expected, tolerance=1e-4):
    """Lists of lists of entities, equal but for the scores' last digits."""
    for entities in (found, expected):
        for entity in (entity for row in entities for entity in row):
            entity["score"] = pytest.approx(entity["score"], abs=tolerance)
    assert found == expected
