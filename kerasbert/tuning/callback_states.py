"""The states of callbacks, for a run that goes on in another process."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np


def states_of(callbacks: Iterable[keras.callbacks.Callback]) -> dict[str, Any]:
    """The state of each callback, by its class and its place among those of the same class.

    That is what its `state()` gives, if it has this method and `set_state(state)`. For others, as
    those of Keras, it is their public attributes of plain data that are no arguments of the
    constructor, such as `best`, `wait` and `best_weights`.
    """
    return {name: _state_of(callback) for name, callback in _by_name(callbacks).items()}


def set_states(callbacks: Iterable[keras.callbacks.Callback], states: dict[str, Any]) -> None:
    """Put the states back, with a warning where the callbacks are not those they are of."""
    named = _by_name(callbacks)
    if named.keys() != states.keys():
        warnings.warn(
            "The callbacks are not those that the run began with; new ones start without a state. "
            f"Received: {sorted(named)}, before: {sorted(states)}.",
            stacklevel=2,
        )
    for name in named.keys() & states.keys():
        if _keeps_its_own(named[name]):
            named[name].set_state(states[name])
        else:
            vars(named[name]).update(states[name])


def _by_name(callbacks) -> dict[str, keras.callbacks.Callback]:
    named = {}
    for callback in callbacks:
        kind = type(callback).__name__
        place = sum(name.partition(" ")[0] == kind for name in named)
        named[f"{kind} {place + 1}"] = callback
    return named


def _state_of(callback) -> dict[str, Any]:
    if _keeps_its_own(callback):
        return callback.state()
    arguments = inspect.signature(type(callback).__init__).parameters
    return {
        name: value
        for name, value in vars(callback).items()
        if not name.startswith("_")
        and name != "params"
        and name not in arguments
        and _is_plain(value)
    }


def _keeps_its_own(callback) -> bool:
    return hasattr(callback, "state") and hasattr(callback, "set_state")


def _is_plain(value) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(isinstance(name, str) and _is_plain(each) for name, each in value.items())
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufV"  # V: bfloat16 and its like
    return value is None or isinstance(value, int | float | str)
