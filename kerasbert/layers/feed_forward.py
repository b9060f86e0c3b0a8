"""The position-wise feed-forward layer (Vaswani et al., 2017, section 3.3)."""

from __future__ import annotations

import keras

from kerasbert.layers.initializing import dense


class FeedForward(keras.layers.Layer):
    """Two dense layers around an activation, (B, T, D) -> (B, T, D).

    With `config.gated_feed_forward` the activated projection is multiplied with a linear one
    before it is projected back (Shazeer, 2020, arXiv:2002.05202).

    Args:
        config: an `EncoderConfig`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        make = {"dtype": self.dtype_policy}
        self.intermediate = dense(
            config,
            config.intermediate_dim,
            name="intermediate",
            activation=config.activation,
            **make,
        )
        self.gate = (
            dense(config, config.intermediate_dim, name="gate", **make)
            if config.gated_feed_forward
            else None
        )
        self.projection = dense(config, config.block_dim, name="output", **make)

    def build(self, x_shape):
        self.intermediate.build(x_shape)
        if self.gate is not None:
            self.gate.build(x_shape)
        self.projection.build((*x_shape[:-1], self.config.intermediate_dim))
        self.built = True

    def call(self, x):
        y = self.intermediate(x)  # (B, T, intermediate_dim)
        if self.gate is not None:
            y = y * self.gate(x)
        return self.projection(y)

    def compute_output_shape(self, x_shape):
        return x_shape
