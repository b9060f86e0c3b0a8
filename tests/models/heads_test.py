"""Pooling over real tokens."""

import numpy as np
import pytest
from keras import ops

from kerasbert.models.heads import pool

SEQUENCE = np.array([[[1, -5], [3, -1], [100, 100]], [[-2, 4], [7, 7], [9, 9]]], "float32")
MASK = np.array([[1, 1, 0], [1, 0, 0]], "int32")


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("pooling", "expected"),
    [
        ("cls", [[1, -5], [-2, 4]]),
        ("mean", [[2, -3], [-2, 4]]),
        ("max", [[3, -1], [-2, 4]]),
    ],
)
def test_padding_takes_no_part(pooling, expected, dtype):
    found = pool(ops.cast(SEQUENCE, dtype), ops.convert_to_tensor(MASK), pooling)
    np.testing.assert_array_equal(ops.convert_to_numpy(ops.cast(found, "float32")), expected)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_a_row_without_real_tokens_is_finite(pooling, dtype):
    found = pool(ops.cast(SEQUENCE, dtype), ops.zeros((2, 3), "int32"), pooling)
    assert np.isfinite(ops.convert_to_numpy(ops.cast(found, "float32"))).all()


def test_a_mean_over_many_tokens_does_not_overflow_half_precision():
    sequence = ops.full((1, 512, 2), 300.0, dtype="float16")
    found = pool(sequence, ops.ones((1, 512), "int32"), "mean")
    np.testing.assert_allclose(ops.convert_to_numpy(found), [[300.0, 300.0]], rtol=1e-2)
