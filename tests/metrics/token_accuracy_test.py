"""Accuracy of tags, against scikit-learn on the tokens that count."""

import keras
import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from kerasbert.metrics import TokenAccuracy


def random_batch(seed, rows=5, length=9, classes=3):
    generator = np.random.default_rng(seed)
    true = generator.integers(classes, size=(rows, length))
    true[generator.random((rows, length)) < 0.4] = -100
    return true.astype("int32"), generator.normal(size=(rows, length, classes)).astype("float32")


@pytest.mark.parametrize("weighing", [None, "rows", "tokens"])
def test_batches_add_up_to_the_accuracy_of_all_labelled_tokens(weighing):
    metric = TokenAccuracy()
    true, predicted, weights = [], [], []
    for seed, length in enumerate([9, 1, 4]):
        labels, logits = random_batch(seed, length=length)
        shape = {None: None, "rows": (5,), "tokens": (5, length)}[weighing]
        weight = None
        if shape is not None:
            weight = np.random.default_rng(seed).integers(3, size=shape).astype("float32")
        metric.update_state(labels, logits, sample_weight=weight)
        counts = labels >= 0
        true.extend(labels[counts])
        predicted.extend(logits.argmax(-1)[counts])
        by_token = np.ones(labels.shape) if weight is None else weight.reshape(5, -1)
        weights.extend(np.broadcast_to(by_token, labels.shape)[counts])
    expected = accuracy_score(true, predicted, sample_weight=weights)
    assert 0 < expected < 1
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)


def test_no_labelled_token_gives_zero():
    metric = TokenAccuracy()
    metric.update_state(np.full((2, 3), -100), np.zeros((2, 3, 4), "float32"))
    assert float(metric.result()) == 0


def test_is_restored_from_its_configuration():
    config = keras.saving.serialize_keras_object(TokenAccuracy(name="tags"))
    restored = keras.saving.deserialize_keras_object(config)
    assert isinstance(restored, TokenAccuracy)
    assert restored.name == "tags"
