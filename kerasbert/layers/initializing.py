"""The parts that every layer of the encoder makes in the same way."""

from __future__ import annotations

import contextlib
from contextvars import ContextVar

import keras

from kerasbert.layers.activations import activation as activation_by_name
from kerasbert.layers.dense import Dense
from kerasbert.layers.norms import Affine

_will_be_loaded: ContextVar[bool] = ContextVar("kerasbert_will_be_loaded", default=False)


@contextlib.contextmanager
def weights_to_be_loaded():
    """Layers made inside start from zeros: drawing random weights takes longer than loading."""
    token = _will_be_loaded.set(True)
    try:
        yield
    finally:
        _will_be_loaded.reset(token)


def initializer(config) -> keras.initializers.Initializer:
    """BERT's weight initialisation: a normal truncated at two standard deviations."""
    if _will_be_loaded.get():
        return keras.initializers.Zeros()
    return keras.initializers.TruncatedNormal(stddev=config.initializer_range)


def dense(config, units: int, *, name: str, dtype, activation="linear", use_bias=None):
    """A dense layer over the last axis, initialised as `config` says."""
    return Dense(
        units,
        activation=None if activation == "linear" else activation_by_name(activation),
        use_bias=config.use_bias if use_bias is None else use_bias,
        kernel_initializer=initializer(config),
        dtype=dtype,
        name=name,
    )


def norm(config, *, name: str, dtype, kind: str | None = None):
    """A norm over the last axis: of the configuration's kind, or of another."""
    if (kind or config.norm) == "affine":
        return Affine(dtype=dtype, name=name)
    return keras.layers.LayerNormalization(
        epsilon=config.norm_epsilon, center=config.norm_bias, dtype=dtype, name=name
    )


def embedding(config, rows: int, width: int, *, name: str, dtype):
    """A lookup table, initialised as `config` says."""
    return keras.layers.Embedding(
        rows, width, embeddings_initializer=initializer(config), dtype=dtype, name=name
    )
