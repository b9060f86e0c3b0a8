"""Bottlenecks around a block (MobileBERT; Sun et al., 2020, arXiv:2004.02984, section 3.1)."""

from __future__ import annotations

import dataclasses

from kerasbert.layers.part import Part, build_all

_ATTENTION_INPUTS = ("shared", "block")


@dataclasses.dataclass(frozen=True)
class Bottleneck:
    """Blocks that work at a smaller width than the hidden states between them.

    Args:
        dim: width inside a block.
        feed_forwards: feed-forward layers stacked in a block.
        attention_input: what attention reads: `"shared"`, queries and keys from a bottleneck of
            their own and values from the hidden states; `"block"`, all from the block's bottleneck.
    """

    dim: int = 128
    feed_forwards: int = 4
    attention_input: str = "shared"

    def __post_init__(self):
        for name in ("dim", "feed_forwards"):
            if getattr(self, name) < 1:
                raise ValueError(f"`{name}` must be >= 1. Received: {name}={getattr(self, name)}")
        if self.attention_input not in _ATTENTION_INPUTS:
            raise ValueError(
                f"`attention_input` must be one of {_ATTENTION_INPUTS}. "
                f"Received: attention_input={self.attention_input!r}"
            )


class BottleneckEntry(Part):
    """Hidden states (B, T, D) to a block's states, and its attention's query-key and value inputs.

    Args:
        config: an `EncoderConfig` with a `bottleneck`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.facts = config.bottleneck
        self.dense = self._dense(self.facts.dim, "input")
        self.norm = self._norm("input_norm")
        self.attention_dense = self.attention_norm = None
        if self.facts.attention_input == "shared":
            self.attention_dense = self._dense(self.facts.dim, "attention")
            self.attention_norm = self._norm("attention_norm")

    def build(self, x_shape):
        inner = (*x_shape[:-1], self.facts.dim)
        build_all(x_shape, self.dense, self.attention_dense)
        build_all(inner, self.norm, self.attention_norm)
        super().build()

    def call(self, x):
        y = self.norm(self.dense(x))  # (B, T, dim)
        if self.facts.attention_input == "shared":
            return y, self.attention_norm(self.attention_dense(x)), x
        return y, y, y

    def compute_output_shape(self, x_shape):
        inner = (*x_shape[:-1], self.facts.dim)
        return (inner, inner, x_shape if self.facts.attention_input == "shared" else inner)


class BottleneckExit(Part):
    """A block's states (B, T, dim) back to the hidden states (B, T, D), added to its input.

    Args:
        config: an `EncoderConfig` with a `bottleneck`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        self.dense = self._dense(config.hidden_dim, "output")
        self.norm = self._norm("output_norm")
        self.dropout = self._dropout(config.hidden_dropout)

    def build(self, y_shape, x_shape):
        self.dense.build(y_shape)
        self.norm.build(x_shape)
        super().build()

    def call(self, y, x, training=False):
        return self.norm(self.dropout(self.dense(y), training=training) + x)

    def compute_output_shape(self, y_shape, x_shape):
        return x_shape
