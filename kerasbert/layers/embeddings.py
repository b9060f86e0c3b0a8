"""Embeddings: token, position and segment, summed, normalised and projected.

Shapes: B batch, T tokens, E embedding_dim, D hidden_dim.
"""

from __future__ import annotations

import dataclasses

import keras
from keras import ops

from kerasbert.layers import tracing
from kerasbert.layers.initializing import dense, embedding, norm


@dataclasses.dataclass(frozen=True)
class Absolute:
    """Learned embeddings of absolute positions (Devlin et al., 2018).

    Args:
        offset: the table's row of the first position; the table has `max_sequence_length + offset`
            rows (fairseq's models, RoBERTa among them, start after the padding index).
        counting: `"index"` numbers all positions of the row, `"non_padding"` only real tokens, so
            that padding on the left changes nothing.
    """

    offset: int = 0
    counting: str = "index"

    def __post_init__(self):
        if self.offset < 0:
            raise ValueError(f"`offset` must not be negative. Received: offset={self.offset}")
        if self.counting not in ("index", "non_padding"):
            raise ValueError(
                f"`counting` must be 'index' or 'non_padding'. Received: counting={self.counting!r}"
            )

    def positions(self, padding_mask):
        """Rows of the position table: (1, T) or (B, T) int32 for a padding mask (B, T)."""
        if self.counting == "index":
            return (
                ops.expand_dims(ops.arange(ops.shape(padding_mask)[1], dtype="int32"), 0)
                + self.offset
            )
        real = ops.cast(padding_mask, "int32")
        counted = ops.cumsum(real, axis=1) - 1 + self.offset
        return ops.where(ops.cast(real, "bool"), counted, max(self.offset - 1, 0))


class Embeddings(keras.layers.Layer):
    """Token ids to the first hidden states, (B, T) -> (B, T, D).

    Args:
        config: an `EncoderConfig`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        width = config.embedding_dim or config.hidden_dim
        rows = config.max_sequence_length + config.position.offset
        make = {"dtype": self.dtype_policy}
        self.token = embedding(config, config.vocabulary_size, width, name="token", **make)
        self.position = embedding(config, rows, width, name="position", **make)
        self.segment = (
            embedding(config, config.num_segments, width, name="segment", **make)
            if config.num_segments
            else None
        )
        self.norm = norm(config, name="norm", **make)
        self.dropout = keras.layers.Dropout(config.hidden_dropout, **make)
        self.projection = (
            dense(config, config.hidden_dim, name="projection", use_bias=True, **make)
            if config.embedding_dim
            else None
        )

    def build(self, token_ids_shape, padding_mask_shape=None, segment_ids_shape=None):
        width = self.config.embedding_dim or self.config.hidden_dim
        for table in (self.token, self.position, self.segment):
            if table is not None:
                table.build(token_ids_shape)
        self.norm.build((None, None, width))
        if self.projection is not None:
            self.projection.build((None, None, width))
        self.built = True

    def call(self, token_ids, padding_mask, segment_ids=None, training=False):
        self._check_length(token_ids)
        x = self.token(token_ids)  # (B, T, E)
        x = x + self.position(self.config.position.positions(padding_mask))
        if self.segment is not None:
            if self.config.num_segments == 1:  # a pair's second text has no row of its own
                segment_ids = ops.zeros_like(segment_ids)
            x = x + self.segment(segment_ids)
        x = self.dropout(self.norm(x), training=training)
        if self.projection is not None:
            x = self.projection(x)  # (B, T, D)
        tracing.write("hidden_states", x)
        return x

    def _check_length(self, token_ids):
        length, longest = token_ids.shape[1], self.config.max_sequence_length
        if isinstance(length, int) and length > longest:
            raise ValueError(
                "The input is longer than the position table. Truncate it or split it into "
                f"windows. Received: length={length}, max_sequence_length={longest}"
            )

    def compute_output_shape(self, token_ids_shape, **_):
        return (*token_ids_shape, self.config.hidden_dim)
