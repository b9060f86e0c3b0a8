"""Accuracy of answers' ends, against the same counted by hand."""

import numpy as np
import pytest

from kerasbert.metrics import SpanAccuracy

# The largest logits of the four rows: (1, 2), (1, 2), (0, 0), (2, 1).
LOGITS = np.array(
    [
        [[0, 0], [2, 0], [1, 3], [0, 1]],
        [[0, 0], [2, 0], [1, 3], [0, 1]],
        [[5, 4], [2, 0], [1, 3], [0, 1]],
        [[0, 0], [2, 4], [3, 3], [0, 1]],
    ],
    "float32",
)


def test_both_ends_must_be_right():
    metric = SpanAccuracy()
    metric.update_state(np.array([[1, 2], [1, 3], [0, 0], [1, 1]]), LOGITS)
    assert float(metric.result()) == pytest.approx(2 / 4)


def test_rows_are_weighed_over_batches_of_any_width():
    metric = SpanAccuracy()
    metric.update_state(np.array([[1, 2], [0, 2]]), LOGITS[:2], sample_weight=np.array([3.0, 1.0]))
    metric.update_state(np.array([[0, 0]]), LOGITS[2:3, :2], sample_weight=np.array([0.0]))
    metric.update_state(np.array([[2, 0]]), LOGITS[3:, :3], sample_weight=np.array([2.0]))
    assert float(metric.result()) == pytest.approx(3 / 6)


def test_a_configuration_gives_the_same_metric():
    again = SpanAccuracy.from_config(SpanAccuracy(name="spans").get_config())
    assert again.name == "spans"
