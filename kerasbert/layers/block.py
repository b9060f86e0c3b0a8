"""One Transformer encoder block (Vaswani et al., 2017; Devlin et al., 2018)."""

from __future__ import annotations

from kerasbert.layers import tracing
from kerasbert.layers.bottleneck import BottleneckEntry, BottleneckExit
from kerasbert.layers.convolution import ConvolutionBranch
from kerasbert.layers.feed_forward import FeedForward
from kerasbert.layers.part import Part, build_all


class EncoderBlock(Part):
    """Self-attention and feed-forward, each with dropout, residual sum and layer normalisation.

    Args:
        config: an `EncoderConfig`.
        index: which applied layer of the stack this is.
    """

    def __init__(self, config, index=0, **kwargs):
        super().__init__(config, **kwargs)
        self.normalize_first = config.norm_placement == "pre"
        make = {"dtype": self.dtype_policy}
        self.attention = config.position.attention(config, index, name="attention", **make)
        has_norm = config.first_attention_norm or index > 0
        self.attention_norm = self._norm("attention_norm") if has_norm else None
        extra = config.bottleneck.feed_forwards - 1 if config.bottleneck else 0
        self.extra_feed_forwards = [
            FeedForward(config, name=f"feed_forward_{j}", **make) for j in range(extra)
        ]
        self.extra_norms = [self._norm(f"feed_forward_{j}_norm") for j in range(extra)]
        self.feed_forward = FeedForward(config, name="feed_forward", **make)
        self.feed_forward_norm = self._norm("feed_forward_norm")
        # With a bottleneck, only what leaves the block is dropped out.
        rate = 0 if config.bottleneck else config.hidden_dropout
        self.dropout = self._dropout(rate)
        self.entry = self.exit = self.convolution = None
        if config.bottleneck:
            self.entry = BottleneckEntry(config, name="bottleneck", **make)
            self.exit = BottleneckExit(config, name="bottleneck", **make)
        if config.convolution and index == 0:
            self.convolution = ConvolutionBranch(config, name="convolution", **make)
        # Layers, where `tuning.adapters` puts some before the residual sums.
        self.attention_adapter = self.feed_forward_adapter = None

    def build(self, x_shape, context_shape=None, query_input_shape=None):
        inner = (*x_shape[:-1], self.config.block_dim)
        attention_shapes = (x_shape, context_shape)
        if self.entry is not None:
            self.entry.build(x_shape)
            _, query_shape, value_shape = self.entry.compute_output_shape(x_shape)
            attention_shapes = (query_shape, context_shape, None, value_shape)
            self.exit.build(inner, x_shape)
        self.attention.build(*attention_shapes)
        build_all(inner, self.attention_norm)
        for feed_forward, normalize in self._feed_forwards():
            build_all(inner, feed_forward, normalize)
        build_all(x_shape, self.convolution)
        super().build()

    def call(self, x, context, query_input=None, training=False):
        """Encode.

        Args:
            x: hidden states (B, T, D).
            context: what all blocks share; see `SelfAttention`.
            query_input: states (B, T, D) that attend to `x`, in place of `x` itself (DeBERTa's
                enhanced mask decoder).
            training: whether dropout is active.
        """
        y, attention_input, value_input = x, None, None
        if self.entry is not None:
            y, attention_input, value_input = self.entry(x)
        elif query_input is not None:
            y, attention_input = query_input, x

        def attend(z):
            return self.attention(
                z if attention_input is None else attention_input,
                context,
                query_input=None if query_input is None else z,
                value_input=value_input,
                training=training,
            )

        y = self._residual(y, attend, self.attention_norm, training, self.attention_adapter)
        for feed_forward, normalize in self._feed_forwards():
            adapt = self.feed_forward_adapter if feed_forward is self.feed_forward else None
            y = self._residual(y, feed_forward, normalize, training, adapt)
        if self.exit is not None:
            y = self.exit(y, x, training=training)
        if self.convolution is not None:
            y = self.convolution(x, y, context["padding_mask"], training=training)
        tracing.write("hidden_states", y)
        return y

    def _feed_forwards(self):
        """The stacked feed-forward layers with their norms."""
        yield from zip(self.extra_feed_forwards, self.extra_norms, strict=True)
        yield self.feed_forward, self.feed_forward_norm

    def _residual(self, x, sub_layer, normalize, training, adapt=None):
        y = x
        if self.normalize_first and normalize is not None:
            y = normalize(x)
        y = sub_layer(y)
        if training:  # else not even called: each call of a layer costs torch some Python
            y = self.dropout(y, training=training)
        if adapt is not None:
            y = adapt(y)
        y = x + y
        return y if self.normalize_first else normalize(y)
