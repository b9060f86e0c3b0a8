"""Relative positions as a bias of the attention scores (Raffel et al., 2019, arXiv:1910.10683,
section 2.1): one bucketed table for all layers, as in MPNet (Song et al., 2020, arXiv:2004.09297).
"""

from __future__ import annotations

import dataclasses
import math

from keras import ops

from kerasbert.layers.attention import SelfAttention
from kerasbert.layers.part import Part
from kerasbert.layers.positions import Absolute, Position


class BiasedSelfAttention(SelfAttention):
    """Self-attention whose scores get the bias (1, N, T, T) that all blocks share."""

    def _position_scores(self, query, key, context, training):
        return context["positions"]


class RelativePositionBias(Part):
    """The bias of each head for each distance: padding mask (B, T) -> (1, N, T, T).

    Args:
        config: an `EncoderConfig` whose `position` is a `RelativeBias`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.table = self._table(config.position.buckets, config.num_heads, "bias")

    def build(self, padding_mask_shape):
        self.table.build(padding_mask_shape)
        super().build()

    def call(self, padding_mask):
        place = ops.arange(ops.shape(padding_mask)[1], dtype="int32")
        distance = ops.expand_dims(place, 0) - ops.expand_dims(place, 1)  # (T, T): key - query
        bias = self.table(self.config.position.bucket(distance))  # (T, T, N)
        return ops.expand_dims(ops.transpose(bias, (2, 0, 1)), 0)

    def compute_output_shape(self, padding_mask_shape):
        return (1, self.config.num_heads, padding_mask_shape[1], padding_mask_shape[1])


@dataclasses.dataclass(frozen=True)
class RelativeBias(Position):
    """A learned bias of the attention scores by bucketed distance, one table for all layers.

    Args:
        buckets: rows of the table; half of them for keys before the query. Distances below a
            quarter of `buckets` have a bucket each, longer ones share logarithmically growing ones.
        max_distance: the distance from which on all share the last bucket.
        absolute: absolute positions that are added to the embeddings too (MPNet), or `None`.
    """

    buckets: int = 32
    max_distance: int = 128
    absolute: Absolute | None = None

    attention = BiasedSelfAttention

    def __post_init__(self):
        if self.buckets < 4 or self.buckets % 2:
            raise ValueError(f"`buckets` must be even and >= 4. Received: buckets={self.buckets}")
        if self.max_distance <= self.buckets // 4:
            raise ValueError(
                "`max_distance` must exceed a quarter of `buckets`. "
                f"Received: max_distance={self.max_distance}, buckets={self.buckets}"
            )

    def shared_layer(self, config, **kwargs):
        return RelativePositionBias(config, name="relative_positions", **kwargs)

    def bucket(self, distance):
        """Bucket of each distance (key - query), int32."""
        half = self.buckets // 2
        exact = half // 2
        far = ops.abs(distance)
        growth = (half - exact) / math.log(self.max_distance / exact)
        # `maximum`: distances that have their own bucket must not give log(0).
        logarithm = ops.log(ops.cast(ops.maximum(far, exact), "float32") / exact) * growth
        shared = ops.minimum(exact + ops.cast(logarithm, "int32"), half - 1)
        after = ops.where(distance > 0, half, 0)
        return ops.cast(after, "int32") + ops.where(far < exact, far, shared)
