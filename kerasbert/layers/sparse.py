"""What sparse kinds of attention share: heads attend in blocks, each to few keys.

Shapes: B batch, T tokens, N heads, H head size; C queries of a block, S keys that they see.
"""

from __future__ import annotations

from keras import ops

from kerasbert.layers.attention import (
    MASKED_SCORE,
    SelfAttention,
    backend_has_fused_attention,
)
from kerasbert.layers.part import Part


class SparseAttention(Part):
    """Base of what `Pattern.layer` gives.

    There is one way for all lengths, without a condition: XLA cannot derive TensorFlow's where
    lengths are not known.

    Args:
        config: an `EncoderConfig`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.scale = (config.block_dim // config.num_heads) ** -0.5
        self.drops_weights = config.attention_dropout > 0
        self.dropout = self._dropout(config.attention_dropout)
        self._has_fused = backend_has_fused_attention()

    def _attend(self, query, key, value, bias, training):
        """softmax(Q K^T / sqrt(H) + bias) V: query (..., C, N, H), key and value (..., S, N, H),
        bias (..., N or 1, C or 1, S) -> (M, C, N, H), where M counts what stands for the dots."""
        query, key, value, bias = (
            ops.reshape(x, (-1, *ops.shape(x)[-3:])) for x in (query, key, value, bias)
        )
        if self._has_fused and not (training and self.drops_weights):
            return ops.dot_product_attention(query, key, value, bias=bias, scale=self.scale)
        query, key, value = (ops.transpose(x, (0, 2, 1, 3)) for x in (query, key, value))
        scores = ops.matmul(query * self.scale, ops.transpose(key, (0, 1, 3, 2))) + bias
        weights = ops.cast(ops.softmax(ops.cast(scores, "float32"), axis=-1), scores.dtype)
        y = ops.matmul(self.dropout(weights, training=training), value)
        return ops.transpose(y, (0, 2, 1, 3))

    def compute_output_shape(self, x_shape, query_shape, *_, **__):
        return query_shape


def split(x, size, blocks):
    """(B, T, ...) -> (B, K, C, ...) with K `blocks` of `size` C, zeros after the end."""
    batch, length = ops.shape(x)[:2]
    extra = size * blocks - length
    if not isinstance(extra, int) or extra:
        x = ops.pad(x, ((0, 0), (0, extra), *((0, 0),) * (len(x.shape) - 2)))
    return ops.reshape(x, (batch, blocks, size, *x.shape[2:]))


def bias_unless(is_seen, dtype):
    """What added to the scores leaves only those keys that are seen."""
    return ops.cast(ops.logical_not(ops.cast(is_seen, "bool")), dtype) * MASKED_SCORE


def check_sparse(config) -> None:
    """Refuse positions that add to the scores: sparse attention does not have all scores."""
    if config.position.attention._position_scores is not SelfAttention._position_scores:
        raise ValueError(
            "Sparse attention cannot have positions that add to the scores. Use `Absolute` or "
            f"`Rotary`. Received: attention={config.attention}, position={config.position}"
        )
