"""Self-attention (Vaswani et al., 2017, arXiv:1706.03762, section 3.2).

Shapes: B batch, T tokens, N heads, H head size, D = N * H hidden_dim.
"""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.layers import tracing
from kerasbert.layers.initializing import dense

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


class SelfAttention(keras.layers.Layer):
    """Multi-head self-attention with an output projection, (B, T, D) -> (B, T, D).

    It runs `keras.ops.dot_product_attention` where the backend has a fused kernel behind it, and
    else the plain formula; the latter also when attention weights are dropped out in training, or
    when scores or weights are traced.

    Args:
        config: an `EncoderConfig`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.num_heads = config.num_heads
        self.head_size = config.hidden_dim // config.num_heads
        make = {"dtype": self.dtype_policy}
        self.query = dense(config, config.hidden_dim, name="query", **make)
        self.key = dense(config, config.hidden_dim, name="key", **make)
        self.value = dense(config, config.hidden_dim, name="value", **make)
        self.projection = dense(config, config.hidden_dim, name="output", **make)
        self.dropout = keras.layers.Dropout(config.attention_dropout, **make)
        self._has_fused = _backend_has_fused_attention()

    def build(self, x_shape, attention_mask_shape=None):
        for layer in (self.query, self.key, self.value, self.projection):
            layer.build(x_shape)
        self.built = True

    def call(self, x, attention_mask, training=False):
        query, key, value = (
            self._split_heads(project(x)) for project in (self.query, self.key, self.value)
        )  # each (B, T, N, H)
        for name, heads in (("queries", query), ("keys", key), ("values", value)):
            tracing.write(name, heads)
        drops_weights = training and self.config.attention_dropout > 0
        is_traced = tracing.is_traced("attention_scores", "attention_weights")
        if self._has_fused and not drops_weights and not is_traced:
            y = ops.dot_product_attention(query, key, value, mask=attention_mask)
        else:
            y = self._attend(query, key, value, attention_mask, training)
        return self.projection(ops.reshape(y, (-1, ops.shape(x)[1], self.config.hidden_dim)))

    def _split_heads(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[1], self.num_heads, self.head_size))

    def _attend(self, query, key, value, attention_mask, training):
        query = ops.transpose(query, (0, 2, 1, 3)) * self.head_size**-0.5  # (B, N, T, H)
        scores = ops.matmul(query, ops.transpose(key, (0, 2, 3, 1)))  # (B, N, T, T)
        tracing.write("attention_scores", scores)
        # Added, as in google-research/bert (modeling.py, `adder`): selecting with `where` takes 3 %
        # more of a forward pass on TensorFlow.
        scores = scores + ops.cast(ops.logical_not(attention_mask), scores.dtype) * MASKED_SCORE
        weights = ops.cast(ops.softmax(ops.cast(scores, "float32"), axis=-1), scores.dtype)
        tracing.write("attention_weights", weights)
        weights = self.dropout(weights, training=training)
        y = ops.matmul(weights, ops.transpose(value, (0, 2, 1, 3)))  # (B, N, T, H)
        return ops.transpose(y, (0, 2, 1, 3))  # (B, T, N, H)

    def compute_output_shape(self, x_shape, attention_mask_shape=None):
        return x_shape


def _backend_has_fused_attention() -> bool:
    """Whether `ops.dot_product_attention` is more than the plain formula.

    It is not on TensorFlow, nor on JAX without an accelerator (where it does not even compile for
    float16). There, with `_attend`, a forward pass takes 4 % less time at 128 tokens and 11 % less
    at 512; on torch it would take 67 % more at 512.
    """
    if keras.backend.backend() == "jax":
        return any(not device.startswith("cpu") for device in keras.distribution.list_devices())
    return keras.backend.backend() == "torch"
