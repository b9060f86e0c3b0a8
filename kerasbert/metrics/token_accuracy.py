"""The share of tokens that are tagged right."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.metrics.labelled import TokenMean


@keras.saving.register_keras_serializable(package="kerasbert")
class TokenAccuracy(TokenMean):
    """The share of labelled tokens whose largest logit is that of their label.

    `update_state(y_true, y_pred, sample_weight=None)` takes labels int (B, T), -100 for tokens that
    do not count, logits (B, T, classes), and weights (B,) or (B, T), of which 0 drops rows or
    tokens.

    Args:
        name: Name of the metric. Defaults to `"token_accuracy"`.
        dtype: Dtype of its state; `None` (default) for Keras's float type.

    Example:

    >>> accuracy = TokenAccuracy()
    >>> accuracy.update_state([[1, 0, -100]], [[[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]]])
    >>> float(accuracy.result())
    0.5
    """

    def __init__(self, name="token_accuracy", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def measure(self, labels, logits):
        return ops.equal(labels, ops.cast(ops.argmax(logits, axis=-1), "int32"))
