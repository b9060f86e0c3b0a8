"""One Transformer encoder block (Vaswani et al., 2017; Devlin et al., 2018)."""

from __future__ import annotations

import keras

from kerasbert.layers import tracing
from kerasbert.layers.attention import SelfAttention
from kerasbert.layers.feed_forward import FeedForward
from kerasbert.layers.initializing import norm


class EncoderBlock(keras.layers.Layer):
    """Self-attention and feed-forward, each with dropout, residual sum and layer normalisation.

    Args:
        config: an `EncoderConfig`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.normalize_first = config.norm_placement == "pre"
        make = {"dtype": self.dtype_policy}
        self.attention = SelfAttention(config, name="attention", **make)
        self.attention_norm = norm(config, name="attention_norm", **make)
        self.feed_forward = FeedForward(config, name="feed_forward", **make)
        self.feed_forward_norm = norm(config, name="feed_forward_norm", **make)
        self.dropout = keras.layers.Dropout(config.hidden_dropout, **make)

    def build(self, x_shape, attention_mask_shape=None):
        self.attention.build(x_shape, attention_mask_shape)
        self.feed_forward.build(x_shape)
        self.attention_norm.build(x_shape)
        self.feed_forward_norm.build(x_shape)
        self.built = True

    def call(self, x, attention_mask, training=False):
        def attend(y):
            return self.attention(y, attention_mask, training=training)

        x = self._residual(x, attend, self.attention_norm, training)
        x = self._residual(x, self.feed_forward, self.feed_forward_norm, training)
        tracing.write("hidden_states", x)
        return x

    def _residual(self, x, sub_layer, normalize, training):
        y = sub_layer(normalize(x) if self.normalize_first else x)
        if training:  # else not even called: each call of a layer costs torch some Python
            y = self.dropout(y, training=training)
        y = x + y
        return y if self.normalize_first else normalize(y)

    def compute_output_shape(self, x_shape, attention_mask_shape=None):
        return x_shape
