"""Adapters: small layers inside frozen blocks (Houlsby et al., 2019, arXiv:1902.00751)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import keras

from kerasbert.layers import ACTIVATIONS, Dense
from kerasbert.layers import activation as activation_by_name
from kerasbert.tuning.addition import Addition, add, blocks_of, opened

# Standard deviation at the start: close enough to zero that an adapter is nearly the identity
# (section 3.6 finds all below 1e-2 to do; google-research/adapter-bert has 1e-3).
INITIAL_SCALE = 1e-3

PLACEMENTS = {
    "houlsby": ("attention_adapter", "feed_forward_adapter"),
    "pfeiffer": ("feed_forward_adapter",),
}


class Adapter(keras.layers.Layer):
    """y + W_up f(W_down y + b_down) + b_up, (B, T, D) -> (B, T, D).

    Args:
        dim: inner width.
        activation: name of f, a key of `kerasbert.layers.ACTIVATIONS`.
    """

    def __init__(self, dim, activation, **kwargs):
        super().__init__(**kwargs)
        self.dim = dim
        self.down = self._dense(dim, "down", activation_by_name(activation))
        self.up = None  # its width is the input's

    def _dense(self, units, name, activation=None):
        return Dense(
            units,
            activation=activation,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=INITIAL_SCALE),
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, y_shape):
        self.up = self._dense(y_shape[-1], "up")
        self.down.build(y_shape)
        self.up.build((*y_shape[:-1], self.dim))
        self.built = True

    def call(self, y):
        return y + self.up(self.down(y))

    def compute_output_shape(self, y_shape):
        return y_shape


@dataclasses.dataclass(frozen=True)
class Adapters(Addition):
    """The settings of `adapters`."""

    dim: int = 64
    placement: str = "houlsby"
    activation: str = "gelu"

    method: ClassVar[str] = "adapters"

    def __post_init__(self):
        if not isinstance(self.dim, int) or self.dim < 1:
            raise ValueError(f"`dim` must be an integer >= 1. Received: dim={self.dim!r}")
        for name, known in (("placement", PLACEMENTS), ("activation", ACTIVATIONS)):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(
                    f"`{name}` must be one of {sorted(known)}. Received: {name}={value!r}"
                )

    def put_into(self, encoder):
        for block in blocks_of(encoder):
            for place in PLACEMENTS[self.placement]:
                adapter = Adapter(self.dim, self.activation, dtype=block.dtype_policy, name=place)
                with opened(block):
                    adapter.build((None, None, encoder.config.block_dim))
                    setattr(block, place, adapter)

    def trains(self, path):
        if self.placement == "houlsby" and path.endswith(("/gamma", "/beta")):
            return True  # section 2.1: "we also train new layer normalization parameters"
        return "_adapter/" in path


def adapters(model, dim: int = 64, placement: str = "houlsby", activation: str = "gelu"):
    """Train small bottleneck layers inside the blocks of a frozen encoder.

    Each stands before a residual sum and is nearly the identity at the start. A task's head trains
    too; all else is frozen, but for the encoder's norms with the placement `"houlsby"`. Where
    blocks are shared (ALBERT), so are their adapters.

    Args:
        model: an `Encoder` or a task; changed in place, and compiled anew if it is compiled.
        dim: inner width of an adapter. Default 64.
        placement: `"houlsby"` (default): after attention's projection and after the feed-forward
            layer (Houlsby et al., 2019, section 2.1). `"pfeiffer"`: after the feed-forward layer
            only, and norms stay frozen (Pfeiffer et al., 2020, arXiv:2005.00247).
        activation: name of the activation inside, as in `EncoderConfig`. Default `"gelu"`.

    Returns:
        The model.

    Raises:
        ValueError: for settings that make no sense, or if the encoder has adapters.
        TypeError: if `model` is something else.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    tuning.adapters(classifier, dim=8, placement="pfeiffer")
    assert len(classifier.backbone.trainable_variables) == 2 * 4
    ```
    """
    return add(model, Adapters(dim, placement, activation))
