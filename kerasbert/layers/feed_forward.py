"""The position-wise feed-forward layer (Vaswani et al., 2017, section 3.3)."""

from __future__ import annotations

from kerasbert.layers.part import Part, build_all


class FeedForward(Part):
    """Two dense layers around an activation, (B, T, D) -> (B, T, D).

    With `config.gated_feed_forward` the activated projection is multiplied with a linear one
    before it is projected back (Shazeer, 2020, arXiv:2002.05202).

    Args:
        config: an `EncoderConfig`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        width = config.intermediate_dim
        self.intermediate = self._dense(width, "intermediate", activation=config.activation)
        self.gate = self._dense(width, "gate") if config.gated_feed_forward else None
        self.projection = self._dense(config.block_dim, "output")

    def build(self, x_shape):
        build_all(x_shape, self.intermediate, self.gate)
        self.projection.build((*x_shape[:-1], self.config.intermediate_dim))
        super().build()

    def call(self, x):
        y = self.intermediate(x)  # (B, T, intermediate_dim)
        if self.gate is not None:
            y = y * self.gate(x)
        return self.projection(y)
