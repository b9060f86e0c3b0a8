"""What is measured on the labelled tokens of a batch alone."""

from __future__ import annotations

import keras
from keras import ops

# Hugging Face's mark of a token without a label.
IGNORED_LABEL = -100


def token_weights(labels, sample_weight=None):
    """The weight of each token: the sample weight of a labelled one, 0 for the others.

    Args:
        labels: int (B, T), -100 where there is no label.
        sample_weight: (B,), (B, 1) or (B, T), or `None` for ones.

    Returns:
        float32 (B, T).
    """
    weights = ops.cast(ops.not_equal(labels, IGNORED_LABEL), "float32")
    if sample_weight is None:
        return weights
    given = ops.cast(ops.convert_to_tensor(sample_weight), "float32")
    return weights * (ops.expand_dims(given, 1) if len(given.shape) == 1 else given)


class TokenMean(keras.metrics.Mean):
    """The mean of what `measure` gives for each labelled token, over the tokens of all batches.

    `update_state(y_true, y_pred, sample_weight=None)` takes labels int (B, T), -100 for tokens that
    do not count, logits (B, T, classes), and weights (B,) or (B, T), of which 0 drops rows or
    tokens.
    """

    def measure(self, labels, logits):
        """A value for each token, (B, T); what it is where there is no label does not matter."""
        raise NotImplementedError

    def update_state(self, y_true, y_pred, sample_weight=None):
        labels = ops.cast(ops.convert_to_tensor(y_true), "int32")
        values = self.measure(labels, ops.convert_to_tensor(y_pred))
        weights = token_weights(labels, sample_weight)
        # Flat: Keras would take the mean of each row first, and rows differ in length.
        super().update_state(ops.reshape(values, (-1,)), ops.reshape(weights, (-1,)))
