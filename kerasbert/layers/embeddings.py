"""Embeddings: token, position, segment and task type, summed, normalised and projected.

Shapes: B batch, T tokens, E embedding_dim, D hidden_dim.
"""

from __future__ import annotations

from keras import ops

from kerasbert.layers import tracing
from kerasbert.layers.part import Part, build_all


class Embeddings(Part):
    """Token ids to the first hidden states, (B, T) -> (B, T, D).

    Args:
        config: an `EncoderConfig`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        token_width = config.embedding_dim or config.hidden_dim
        self.width = config.hidden_dim if config.trigram else token_width  # where all are summed
        self.token = self._table(config.vocabulary_size, token_width, "token")
        self.absolute = config.position.absolute
        self.position = self.segment = self.task_type = self.projection = None
        if self.absolute is not None:
            rows = config.max_sequence_length + self.absolute.offset
            self.position = self._table(rows, self.width, "position")
        if config.num_segments:
            self.segment = self._table(config.num_segments, self.width, "segment")
        if config.num_task_types:
            self.task_type = self._table(config.num_task_types, self.width, "task_type")
        self.norm = self._norm("norm")
        self.dropout = self._dropout(config.hidden_dropout)
        if config.embedding_dim:
            self.projection = self._dense(config.hidden_dim, "projection", use_bias=True)

    def build(self, token_ids_shape, *_, **__):
        build_all(token_ids_shape, self.token, self.position, self.segment, self.task_type)
        self.norm.build((None, None, self.width))
        if self.projection is not None:
            width = self.config.embedding_dim
            self.projection.build((None, None, 3 * width if self.config.trigram else width))
        super().build()

    def call(self, token_ids, padding_mask, segment_ids=None, task_type_ids=None, training=False):
        self._check_length(token_ids)
        x = self.token(token_ids)  # (B, T, embedding_dim or D)
        if self.config.trigram:
            x = self.projection(with_neighbours(x))
        if self.position is not None:
            x = x + self.position(self.absolute.rows(padding_mask))
        if self.segment is not None:
            if self.config.num_segments == 1:  # a pair's second text has no row of its own
                segment_ids = ops.zeros_like(segment_ids)
            x = x + self.segment(segment_ids)
        if self.task_type is not None:
            x = x + self.task_type(task_type_ids)
        x = self.dropout(self.norm(x), training=training)
        if self.projection is not None and not self.config.trigram:
            x = self.projection(x)
        tracing.write("hidden_states", x)  # (B, T, D)
        return x

    def _check_length(self, token_ids):
        length, longest = token_ids.shape[1], self.config.max_sequence_length
        if isinstance(length, int) and length > longest:
            raise ValueError(
                "The input is longer than the encoder takes. Truncate it or split it into "
                f"windows. Received: length={length}, max_sequence_length={longest}"
            )

    def compute_output_shape(self, token_ids_shape, *_, **__):
        return (*token_ids_shape, self.config.hidden_dim)


def with_neighbours(x):
    """Each token's embedding between those of the next and the one before (MobileBERT; Sun et al.,
    2020, section 3.4): (B, T, E) -> (B, T, 3 E), zeros beyond the ends. As in the released model,
    padding is a neighbour like any other: the state of a text's last token depends on whether any
    follows, unless the padding's embedding is zero."""
    padded = ops.pad(x, ((0, 0), (1, 1), (0, 0)))
    return ops.concatenate((padded[:, 2:], x, padded[:, :-2]), axis=-1)
