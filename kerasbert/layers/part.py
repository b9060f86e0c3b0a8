"""What the layers inside an encoder have in common."""

from __future__ import annotations

import keras

from kerasbert.layers.initializing import dense, embedding, norm


class Part(keras.layers.Layer):
    """A layer that makes others as the configuration says; its output has its input's shape.

    Args:
        config: an `EncoderConfig`.
    """

    def __init__(self, config, **kwargs):
        super().__init__(**kwargs)
        self.config = config

    def _dense(self, units: int, name: str, **options):
        return dense(self.config, units, name=name, dtype=self.dtype_policy, **options)

    def _norm(self, name: str, kind: str | None = None):
        return norm(self.config, name=name, dtype=self.dtype_policy, kind=kind)

    def _table(self, rows: int, width: int, name: str):
        return embedding(self.config, rows, width, name=name, dtype=self.dtype_policy)

    def _dropout(self, rate: float):
        return keras.layers.Dropout(rate, dtype=self.dtype_policy)

    def build(self, *shapes, **more_shapes):
        self.built = True

    def compute_output_shape(self, x_shape, *_, **__):
        return x_shape


def build_all(shape, *layers) -> None:
    """Build those of the layers that are there, all for inputs of one shape."""
    for layer in layers:
        if layer is not None:
            layer.build(shape)
