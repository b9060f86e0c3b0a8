"""Activation functions by the names that configurations use."""

from __future__ import annotations

import functools
from collections.abc import Callable

import keras

ACTIVATIONS: dict[str, Callable] = {
    # Keras's own default for "gelu" has changed over time and differs between libraries: say which.
    "gelu": functools.partial(keras.activations.gelu, approximate=False),
    "gelu_tanh": functools.partial(keras.activations.gelu, approximate=True),
    "relu": keras.activations.relu,
    "silu": keras.activations.silu,
    "tanh": keras.activations.tanh,
    "sigmoid": keras.activations.sigmoid,
    "linear": keras.activations.linear,
}


def activation(name: str) -> Callable:
    """The function called `name` (a key of `ACTIVATIONS`)."""
    return ACTIVATIONS[name]
