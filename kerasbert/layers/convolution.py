"""The convolution beside the first block (He et al., 2020, arXiv:2006.03654; "nGiE" in the released
code of DeBERTa v2)."""

from __future__ import annotations

import dataclasses

import keras
from keras import ops

from kerasbert.layers.activations import ACTIVATIONS, activation
from kerasbert.layers.initializing import initializer
from kerasbert.layers.part import Part, build_all


@dataclasses.dataclass(frozen=True)
class Convolution:
    """A convolution over the first block's input, added to its output.

    Args:
        kernel_size: tokens that it sees; odd.
        groups: groups of features that it mixes.
        activation: its activation.
    """

    kernel_size: int = 3
    groups: int = 1
    activation: str = "tanh"

    def __post_init__(self):
        if self.kernel_size < 1 or self.kernel_size % 2 == 0:
            raise ValueError(
                f"`kernel_size` must be odd and positive. Received: kernel_size={self.kernel_size}"
            )
        if self.groups < 1:
            raise ValueError(f"`groups` must be >= 1. Received: groups={self.groups}")
        if self.activation not in ACTIVATIONS:
            raise ValueError(
                f"`activation` must be one of {sorted(ACTIVATIONS)}. "
                f"Received: activation={self.activation!r}"
            )


class ConvolutionBranch(Part):
    """Input x and output y of a block, each (B, T, D) -> norm(y + activation(convolution(x))).

    Args:
        config: an `EncoderConfig` with a `convolution`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(config, **kwargs)
        facts = config.convolution
        self.convolution = keras.layers.Conv1D(
            config.hidden_dim,
            facts.kernel_size,
            padding="same",
            groups=facts.groups,
            kernel_initializer=initializer(config),
            name="convolution",
            dtype=self.dtype_policy,
        )
        self.activation = activation(facts.activation)
        self.norm = self._norm("norm")
        self.dropout = self._dropout(config.hidden_dropout)

    def build(self, x_shape, y_shape=None, padding_mask_shape=None):
        build_all(x_shape, self.convolution, self.norm)
        super().build()

    def call(self, x, y, padding_mask, training=False):
        real = ops.cast(ops.expand_dims(padding_mask, -1), x.dtype)  # (B, T, 1)
        z = self.convolution(x * real) * real  # padding gives nothing to its neighbours
        return self.norm(y + self.activation(self.dropout(z, training=training)))
