"""Disentangled attention (DeBERTa; He et al., 2020, arXiv:2006.03654, section 3.1), and what its
later versions changed (He et al., 2021, arXiv:2111.09543, and their released code).

To the score of query i and key j two terms are added that depend on the distance d = i - j: content
to position, q_i K(r_d), and position to content, k_j Q(r_d). r_d is a row of one table, which all
layers share; K and Q are projections.

Each term is one matrix product with the rows of 2T distances, whose lines are then shifted into
place (`_by_distance`). To gather each pair's score with `ops.take_along_axis` instead takes two to
four times as long on torch and TensorFlow, and from a fifth less to a half more on JAX.

Shapes: B batch, T tokens, N heads, H head size, D hidden_dim, R rows of the table in use.
"""

from __future__ import annotations

import dataclasses

import keras
import numpy as np
from keras import ops

from kerasbert.layers.attention import SelfAttention
from kerasbert.layers.part import Part, build_all
from kerasbert.layers.patterns import Full
from kerasbert.layers.positions import Absolute, Position

TERMS = ("c2p", "p2c")


class DisentangledSelfAttention(SelfAttention):
    """Self-attention whose scores add content-to-position and position-to-content terms."""

    def __init__(self, config, index=0, **kwargs):
        super().__init__(config, index, **kwargs)
        self.position = position = config.position
        self.scale = (self.head_size * (1 + len(position.terms))) ** -0.5
        self.position_dropout = self._dropout(config.hidden_dropout)
        self.position_key = self.position_query = None
        width, own = config.hidden_dim, () if position.shared_projections else position.terms
        if "c2p" in own:
            bias = config.use_bias and position.key_bias
            self.position_key = self._dense(width, "position_key", use_bias=bias)
        if "p2c" in own:
            self.position_query = self._dense(width, "position_query")

    def build(self, x_shape, *shapes):
        super().build(x_shape, *shapes)
        build_all((None, self.config.hidden_dim), self.position_key, self.position_query)

    def _position_scores(self, query, key, context, training):
        rows, falling, rising = context["positions"]  # (R, D), (2T,), (2T,)
        rows = self.position_dropout(rows, training=training)
        scores = 0
        if "c2p" in self.position.terms:
            position_key = (self.position_key or self.key)(rows)
            by_query = self._by_distance(query, position_key, falling)  # (N, B, query, key)
            scores = ops.transpose(by_query, (1, 0, 2, 3))
        if "p2c" in self.position.terms:
            # Scaled before the product, as `query` is: in float16 it could overflow.
            position_query = (self.position_query or self.query)(rows) * self.scale
            by_key = self._by_distance(key, position_query, rising)  # (N, B, key, query)
            scores = scores + ops.transpose(by_key, (1, 0, 3, 2))
        return scores

    def _by_distance(self, x, rows, order):
        """Product of each x_i with the row of its distance to each j: (N, B, T, T).

        Args:
            x: (B, N, T, H).
            rows: (R, D).
            order: (2T,), the index into `rows` for the pairs (i, j) with j - i = 1 - T, 2 - T, ...
        """
        length = ops.shape(x)[2]
        rows = ops.reshape(rows, (-1, self.num_heads, self.head_size))
        rows = ops.transpose(ops.take(rows, order, axis=0), (1, 2, 0))  # (N, H, 2T)
        # One product for the whole batch. To broadcast `rows` over it takes as long, and with one
        # head TensorFlow 2.21 then writes beyond the end of an array.
        x = ops.reshape(ops.transpose(x, (1, 0, 2, 3)), (self.num_heads, -1, self.head_size))
        y = ops.matmul(x, rows)  # (N, B T, 2T)
        # Lines read anew with one column less each begin one place earlier than the line before
        # (the shift of Transformer-XL; Dai et al., 2019, arXiv:1901.02860, appendix B).
        width = 2 * length - 1
        y = ops.reshape(y, (self.num_heads, -1, 2 * length * length))[:, :, : length * width]
        return ops.reshape(y, (self.num_heads, -1, length, width))[:, :, :, length - 1 :]


class RelativePositions(Part):
    """What all blocks know of distances: the output for a padding mask (B, T).

    It gives the rows of the table that T tokens need, (R, D), and twice the index into them for 2T
    distances d = i - j, int32 (2T,): falling from T - 1, and rising from 1 - T.

    Args:
        config: an `EncoderConfig` whose `position` is `Disentangled`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.longest = config.max_sequence_length
        self.row = config.position.rows(config)  # of each distance from -longest to longest
        self.table = self._table(2 * config.position.span(config), config.hidden_dim, "table")
        self.norm = self._norm("norm", kind="layer") if config.position.normalize else None

    def build(self, padding_mask_shape):
        self.table.build((None,))
        build_all((None, self.table.output_dim), self.norm)
        super().build()

    def make_room(self, more):
        """Take inputs longer by so many tokens: the longest distances share the last row."""
        self.longest += more
        self.row = np.pad(self.row, more, mode="edge")

    def call(self, padding_mask):
        length = ops.shape(padding_mask)[1]
        # In NumPy where the length is known, as the number of rows then has to be.
        row = self.row if isinstance(length, int) else ops.convert_to_tensor(self.row)
        first, last = row[self.longest - length + 1], row[self.longest + length - 1]
        rows = self.table(ops.arange(first, last + 1, dtype="int32"))
        if self.norm is not None:
            rows = self.norm(rows)
        rising = ops.convert_to_tensor(row[self.longest - length : self.longest + length + 1])
        # The distances -T and T are beyond all pairs: their rows need only exist.
        rising = ops.clip(rising - first, 0, last - first)
        return rows, ops.flip(rising[:-1]), rising[1:]

    def compute_output_spec(self, padding_mask):
        rows = keras.KerasTensor((None, self.table.output_dim), dtype=self.compute_dtype)
        return rows, *(keras.KerasTensor((None,), dtype="int32") for _ in range(2))


@dataclasses.dataclass(frozen=True)
class Disentangled(Position):
    """Disentangled attention; the defaults are those of DeBERTa v3.

    Args:
        buckets: buckets of distances to either side. Distances of up to half of it have a bucket
            each, longer ones share logarithmically growing ones. `None` gives each distance its
            own, as in DeBERTa v1. The table has twice as many rows.
        max_distance: the distance from which on all share the last row; `None` for the encoder's
            `max_sequence_length`.
        terms: what adds to the scores: `"c2p"`, content to position, `"p2c"`, position to content.
        shared_projections: whether the projections of the content are those of the rows too.
        normalize: whether the table's rows are normalised before they are used.
        key_bias: whether projections to keys have a bias (not in DeBERTa v1).
        absolute: absolute positions that are added to the embeddings too, or `None`.
    """

    buckets: int | None = 256
    max_distance: int | None = None
    terms: tuple[str, ...] = TERMS
    shared_projections: bool = True
    normalize: bool = True
    key_bias: bool = True
    absolute: Absolute | None = None

    attention = DisentangledSelfAttention

    def __post_init__(self):
        for name, least in (("buckets", 2), ("max_distance", 1)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"`{name}` must be >= {least}. Received: {name}={value}")
        if not self.terms or len({*self.terms} & {*TERMS}) != len(self.terms):
            raise ValueError(f"`terms` must be some of {TERMS}. Received: terms={self.terms}")

    def check(self, config):
        if not isinstance(config.attention, Full) or config.bottleneck is not None:
            raise ValueError(
                "Disentangled attention needs full attention and no bottleneck. Received: "
                f"attention={config.attention}, bottleneck={config.bottleneck}"
            )
        farthest = (self.max_distance or config.max_sequence_length) - 1
        if self.buckets and farthest <= self.buckets // 2 < config.max_sequence_length - 1:
            raise ValueError(
                "`max_distance` must exceed the distances that have a bucket of their own. "
                f"Received: max_distance={self.max_distance}, buckets={self.buckets}"
            )

    def shared_layer(self, config, **kwargs):
        return RelativePositions(config, name="relative_positions", **kwargs)

    def span(self, config) -> int:
        """Rows of the table to either side of its middle."""
        return self.buckets or self.max_distance or config.max_sequence_length

    def rows(self, config) -> np.ndarray:
        """Row of the table for each distance (query - key) of at most `max_sequence_length`."""
        farthest = config.max_sequence_length - 1
        distance = np.clip(np.arange(-farthest - 1, farthest + 2), -farthest, farthest)
        if self.buckets:
            max_distance = self.max_distance or config.max_sequence_length
            distance = log_bucket(distance, self.buckets, max_distance)
        span = self.span(config)
        return np.clip(distance + span, 0, 2 * span - 1).astype("int32")


def log_bucket(distance, buckets: int, max_distance: int) -> np.ndarray:
    """Bucket of each distance: itself up to `buckets // 2`, and from there on to twice as much at
    `max_distance` in logarithmic steps (`make_log_bucket_position` in the released code)."""
    half = buckets // 2
    bucket = np.array(distance)
    far = np.abs(bucket) > half
    share = _log(np.abs(bucket[far]) / half) / _log((max_distance - 1) / half)
    steps = np.ceil(share * np.float32(half - 1)).astype(bucket.dtype)
    bucket[far] = np.sign(bucket[far]) * (half + steps)
    return bucket


def _log(x):
    """The correctly rounded float32 logarithm: one bit more or less can change a bucket."""
    return np.log(np.float32(x), dtype="float64").astype("float32")
