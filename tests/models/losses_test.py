"""Losses of tasks with an axis of tokens, against arithmetic."""

import keras
import numpy as np
import pytest

from kerasbert.models.losses import TokenCrossEntropy, answer_span_loss

LOGITS = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")


def cross_entropy(logits, label):
    return np.log(np.exp(logits).sum()) - logits[label]


def value(loss):
    return float(keras.ops.convert_to_numpy(loss))


def test_tokens_without_a_label_do_not_count():
    labels = np.array([[1, -100, 3], [-100, -100, 0]])
    expected = np.mean(
        [cross_entropy(LOGITS[row, at], labels[row, at]) for row, at in ((0, 0), (0, 2), (1, 2))]
    )
    assert value(TokenCrossEntropy()(labels, LOGITS)) == pytest.approx(expected, rel=1e-5)


def test_weights_of_rows_and_of_tokens_weigh_the_mean():
    labels = np.array([[1, -100, 3], [-100, -100, 0]])
    first, second, third = (
        cross_entropy(LOGITS[0, 0], 1),
        cross_entropy(LOGITS[0, 2], 3),
        cross_entropy(LOGITS[1, 2], 0),
    )
    by_row = TokenCrossEntropy()(labels, LOGITS, sample_weight=np.array([2.0, 1.0]))
    assert value(by_row) == pytest.approx((2 * first + 2 * second + third) / 5, rel=1e-5)
    by_token = np.array([[1.0, 7.0, 0.0], [7.0, 7.0, 3.0]])
    found = TokenCrossEntropy()(labels, LOGITS, sample_weight=by_token)
    assert value(found) == pytest.approx((first + 3 * third) / 4, rel=1e-5)


def test_no_label_at_all_is_no_loss():
    assert value(TokenCrossEntropy()(np.full((2, 3), -100), LOGITS)) == 0


def test_the_loss_of_an_answer_is_the_mean_of_its_two_ends():
    logits = LOGITS[:, :, :2]
    positions = np.array([[0, 2], [1, 1]])
    expected = [
        np.mean([cross_entropy(logits[row, :, end], positions[row, end]) for end in (0, 1)])
        for row in range(2)
    ]
    found = keras.ops.convert_to_numpy(answer_span_loss(positions, logits))
    np.testing.assert_allclose(found, expected, rtol=1e-5)
