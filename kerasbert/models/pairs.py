"""Pairs of embeddings: how alike they are, and the loss of pairs that belong together."""

from __future__ import annotations

import keras
from keras import ops


class UnitLength(keras.layers.Layer):
    """Vectors to vectors of length 1, (..., D) -> (..., D); zeros stay zeros."""

    def call(self, x):
        return unit_length(x)

    def compute_output_shape(self, x_shape):
        return x_shape


def unit_length(vectors):
    """Vectors of length 1, (..., D) -> (..., D); zeros stay zeros, and their gradient is finite."""
    squares = ops.sum(ops.square(vectors), axis=-1, keepdims=True)
    return vectors * ops.rsqrt(ops.maximum(squares, 1e-24))


def cosines(pairs):
    """The cosine of the two vectors of each pair, (B, 2, D) -> (B, 1)."""
    vectors = unit_length(pairs)
    return ops.sum(vectors[:, 0] * vectors[:, 1], axis=-1, keepdims=True)


def in_batch_negatives_loss(pairs, partners, weights, scale: float):
    """Cross entropy of finding the partner of each first text among all second texts of the batch.

    Henderson et al., 2017, arXiv:1705.00652, section 4.4, on scaled cosines.

    Args:
        pairs: (B, 2, D) float.
        partners: int (B,), the row whose second text belongs to each first one.
        weights: (B,) float, or `None`. A row of weight 0 takes no part, as a negative neither.
        scale: factor of the cosines.

    Returns:
        A scalar: the weighted sum over the rows, divided by their number.
    """
    vectors = unit_length(pairs)
    scores = scale * ops.matmul(vectors[:, 0], ops.transpose(vectors[:, 1]))  # (B, B)
    if weights is None:
        weights = ops.ones_like(scores[:, 0])
    weights = ops.cast(weights, scores.dtype)
    scores = scores + ops.where(weights > 0, 0.0, -1e9)  # of the columns
    losses = keras.losses.sparse_categorical_crossentropy(partners, scores, from_logits=True)
    return ops.mean(ops.where(weights > 0, losses * weights, 0.0))
