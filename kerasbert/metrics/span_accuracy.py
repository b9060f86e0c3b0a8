"""The share of answers that are found at the right tokens."""

from __future__ import annotations

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerasbert")
class SpanAccuracy(keras.metrics.Mean):
    """The share of rows whose first and last token are both found exactly.

    `update_state(y_true, y_pred, sample_weight=None)` takes positions int (B, 2), logits (B, T, 2)
    and weights (B,). It looks at single rows: answers from several windows of a context, as people
    want them, are what `squad` scores.

    Args:
        name: Name of the metric. Defaults to `"span_accuracy"`.
        dtype: Dtype of its state; `None` (default) for Keras's float type.

    Example:

    >>> accuracy = SpanAccuracy()
    >>> accuracy.update_state([[1, 1], [0, 1]], [[[0.0, 0.0], [1.0, 1.0]]] * 2)
    >>> float(accuracy.result())
    0.5
    """

    def __init__(self, name="span_accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def update_state(self, y_true, y_pred, sample_weight=None):
        positions = ops.cast(ops.convert_to_tensor(y_true), "int32")
        found = ops.cast(ops.argmax(y_pred, axis=1), "int32")  # (B, 2)
        is_right = ops.all(ops.equal(positions, found), axis=-1)
        super().update_state(ops.cast(is_right, self.dtype), sample_weight)
