"""Perplexity against its definition, worked in NumPy."""

import keras
import numpy as np
import pytest

from kerasbert.metrics import Perplexity


def test_it_is_the_exponential_of_the_mean_loss_of_all_labelled_tokens():
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 5, (6, 4))
    labels[draw.random((6, 4)) < 0.4] = -100
    logits = draw.normal(size=(6, 4, 5)).astype("float32")
    weights = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
    picked = np.take_along_axis(probabilities, np.maximum(labels, 0)[..., None], -1)[..., 0]
    metric = Perplexity()
    for rows in (slice(0, 2), slice(2, 6)):  # batches of different sizes
        metric.update_state(labels[rows], logits[rows], weights[rows])
    counts = (labels >= 0) & (weights[:, None] > 0)
    expected = np.exp(-np.log(picked[counts]).mean())
    assert float(metric.result()) == pytest.approx(expected, rel=1e-5)
    metric.reset_state()
    metric.update_state(labels, logits)
    expected = np.exp(-np.log(picked[labels >= 0]).mean())
    assert float(metric.result()) == pytest.approx(expected, rel=1e-5)


def test_uniform_logits_over_n_classes_have_a_perplexity_of_n():
    metric = keras.metrics.deserialize(keras.metrics.serialize(Perplexity(name="p")))
    assert (type(metric), metric.name) == (Perplexity, "p")
    metric.update_state(np.zeros((2, 3), int), np.zeros((2, 3, 7), "float32"))
    assert float(metric.result()) == pytest.approx(7, rel=1e-5)
