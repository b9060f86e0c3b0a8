"""How surprised a model is by a token."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.metrics.labelled import TokenMean


@keras.saving.register_keras_serializable(package="kerasbert")
class Perplexity(TokenMean):
    """The exponential of the mean cross entropy of the labelled tokens.

    `update_state(y_true, y_pred, sample_weight=None)` takes labels int (B, T), -100 for tokens that
    do not count, logits (B, T, classes), and weights (B,) or (B, T), of which 0 drops rows or
    tokens.

    Args:
        name: Name of the metric. Defaults to `"perplexity"`.
        dtype: Dtype of its state; `None` (default) for Keras's float type.

    Example:

    >>> perplexity = Perplexity()
    >>> perplexity.update_state([[1, -100]], [[[2.0, 2.0], [0.0, 9.0]]])
    >>> round(float(perplexity.result()), 4)
    2.0
    """

    def __init__(self, name="perplexity", dtype=None):
        super().__init__(name=name, dtype=dtype)

    def measure(self, labels, logits):
        return keras.losses.sparse_categorical_crossentropy(
            ops.maximum(labels, 0), logits, from_logits=True
        )

    def result(self):
        return ops.exp(super().result())
