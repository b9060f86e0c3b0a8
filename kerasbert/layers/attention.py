"""Self-attention (Vaswani et al., 2017, arXiv:1706.03762, section 3.2).

Shapes: B batch, T tokens, N heads, H head size, D = N * H hidden_dim.
"""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.layers import tracing
from kerasbert.layers.part import Part, build_all

# exp(-1e4) is exactly zero in every float type, and -1e4 itself is finite in float16.
MASKED_SCORE = -1e4


class AttentionMask(keras.layers.Layer):
    """Which key each query may see: padding mask (B, T) -> bool (B, 1, 1 or T, T).

    A query that may see no key at all (a row without real tokens; leading padding under a causal
    mask) sees every key instead: its output means nothing, and stays finite.

    Args:
        causal: whether a token sees only itself and those before it.
    """

    def __init__(self, causal=False, **kwargs):
        super().__init__(**kwargs)
        self.causal = causal

    def call(self, padding_mask):
        # `expand_dims`, not `mask[:, None, None, :]`: the latter has no built-in LiteRT operator
        # when both dimensions are dynamic.
        mask = ops.expand_dims(ops.expand_dims(ops.cast(padding_mask, "bool"), 1), 1)
        if self.causal:
            position = ops.arange(ops.shape(padding_mask)[1], dtype="int32")
            before = ops.expand_dims(position, 0) <= ops.expand_dims(position, 1)  # (T, T)
            mask = ops.logical_and(mask, before)
        sees_nothing = ops.logical_not(ops.any(mask, axis=-1, keepdims=True))
        return ops.logical_or(mask, sees_nothing)

    def compute_output_shape(self, padding_mask_shape):
        batch, length = padding_mask_shape
        return (batch, 1, length if self.causal else 1, length)

    def compute_output_spec(self, padding_mask):
        return keras.KerasTensor(self.compute_output_shape(padding_mask.shape), dtype="bool")


class SelfAttention(Part):
    """Multi-head self-attention, (B, T, D) -> (B, T, D).

    It uses `keras.ops.dot_product_attention` where the backend has a fused kernel behind it, and
    else the plain formula; the latter also when attention weights are dropped out in training, when
    scores or weights are traced, and when positions add to the scores.

    Kinds of positions that act here derive from this class (see `Position.attention`); which keys
    a query sees is decided by `config.attention`.

    Args:
        config: an `EncoderConfig`.
        index: which applied layer of the stack this is.
    """

    def __init__(self, config, index=0, **kwargs):
        super().__init__(config, **kwargs)
        self.num_heads = config.num_heads
        self.head_size = config.block_dim // config.num_heads
        self.scale = self.head_size**-0.5
        key_bias = config.use_bias and config.position.key_bias
        self.query = self._dense(config.block_dim, "query")
        self.key = self._dense(config.block_dim, "key", use_bias=key_bias)
        self.value = self._dense(config.block_dim, "value")
        self.projection = self._dense(config.block_dim, "output")
        self.sparse = config.attention.layer(config, index, name="sparse", dtype=self.dtype_policy)
        self.dropout = self._dropout(config.attention_dropout)
        self._has_fused = backend_has_fused_attention()
        self.prefix = None  # a layer, where `tuning.prefixes` puts keys and values before all

    def build(self, x_shape, context_shape=None, query_input_shape=None, value_input_shape=None):
        self.query.build(query_input_shape or x_shape)
        self.key.build(x_shape)
        self.value.build(value_input_shape or x_shape)
        self.projection.build((*x_shape[:-1], self.config.block_dim))
        build_all(x_shape, self.sparse)
        super().build()

    def call(self, x, context, query_input=None, value_input=None, training=False):
        """Attend.

        Args:
            x: states (B, T, D) from which queries, keys and values are projected.
            context: what all blocks share: `"attention_mask"` bool (B, 1, 1 or T, T); for sparse
                attention `"padding_mask"` and `"global_mask"` (B, T); `"positions"`, the output of
                `Position.shared_layer`.
            query_input: states for the queries, in place of `x`.
            value_input: states for the values, in place of `x`.
            training: whether dropout is active.
        """
        query = self._split_heads(self.query(x if query_input is None else query_input))
        key = self._split_heads(self.key(x))
        value = self._split_heads(self.value(x if value_input is None else value_input))
        for name, heads in (("queries", query), ("keys", key), ("values", value)):
            tracing.write(name, heads)  # each (B, T, N, H)
        query, key = self._rotate(query, key)
        if self.prefix is not None:
            key, value, mask = self.prefix(key, value, context["attention_mask"])
            context = {**context, "attention_mask": mask}
        y = self._attend(x, query, key, value, context, training)  # (B, T, N, H)
        return self.projection(ops.reshape(y, (-1, ops.shape(x)[1], self.config.block_dim)))

    def _split_heads(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[1], self.num_heads, self.head_size))

    def _rotate(self, query, key):
        """Positions that turn queries and keys, each (B, T, N, H)."""
        return query, key

    def _position_scores(self, query, key, context, training):
        """Positions that add to the scores: `None`, or what broadcasts to (B, N, T, T).

        `query` (B, N, T, H) is scaled already; `key` is (B, N, T, H).
        """
        return None

    def _position_scores_after_prefix(self, query, key, context, training):
        """The same where the first keys are those of a prefix, which have no position."""
        if self.prefix is None:
            return self._position_scores(query, key, context, training)
        length = self.prefix.length
        scores = self._position_scores(query, key[:, :, length:], context, training)
        return None if scores is None else ops.pad(scores, ((0, 0),) * 3 + ((length, 0),))

    def _attend(self, x, query, key, value, context, training):
        is_traced = tracing.is_traced("attention_scores", "attention_weights")
        if self.sparse is not None:
            if is_traced:
                raise ValueError(
                    "Sparse attention has no scores and weights of shape (batch, heads, length, "
                    f"length) to trace. Received: attention={self.config.attention}"
                )
            return self.sparse(x, query, key, value, context, training=training)
        drops_weights = training and self.config.attention_dropout > 0
        if self._has_fused and not drops_weights and not is_traced and not self._adds_to_scores:
            return ops.dot_product_attention(
                query, key, value, mask=context["attention_mask"], scale=self.scale
            )
        return self._attend_plainly(query, key, value, context, training)

    @property
    def _adds_to_scores(self) -> bool:
        return type(self)._position_scores is not SelfAttention._position_scores

    def _attend_plainly(self, query, key, value, context, training):
        query = ops.transpose(query, (0, 2, 1, 3)) * self.scale  # (B, N, T, H)
        key = ops.transpose(key, (0, 2, 1, 3))
        scores = ops.matmul(query, ops.transpose(key, (0, 1, 3, 2)))  # (B, N, T, T)
        position_scores = self._position_scores_after_prefix(query, key, context, training)
        if position_scores is not None:
            scores = scores + position_scores
        tracing.write("attention_scores", scores)
        weights = masked_softmax(scores, context["attention_mask"])
        tracing.write("attention_weights", weights)
        weights = self.dropout(weights, training=training)
        y = ops.matmul(weights, ops.transpose(value, (0, 2, 1, 3)))  # (B, N, T, H)
        return ops.transpose(y, (0, 2, 1, 3))  # (B, T, N, H)


def masked_softmax(scores, mask):
    """Attention weights over the keys that `mask` (bool, broadcast to `scores`) lets be seen."""
    # Added, as in google-research/bert (modeling.py, `adder`): selecting with `where` takes 3 %
    # more of a forward pass on TensorFlow.
    scores = scores + ops.cast(ops.logical_not(mask), scores.dtype) * MASKED_SCORE
    return ops.cast(ops.softmax(ops.cast(scores, "float32"), axis=-1), scores.dtype)


def backend_has_fused_attention() -> bool:
    """Whether `ops.dot_product_attention` is more than the plain formula.

    It is not on TensorFlow, nor on JAX without an accelerator (where it does not even compile for
    float16). There, with `_attend`, a forward pass takes 4 % less time at 128 tokens and 11 % less
    at 512; on torch it would take 67 % more at 512.
    """
    if keras.backend.backend() == "jax":
        return any(not device.startswith("cpu") for device in keras.distribution.list_devices())
    return keras.backend.backend() == "torch"
