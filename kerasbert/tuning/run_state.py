"""The state of a training run: what it needs to go on in another process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from kerasbert.checkpoints.random_states import random_states, set_random_states
from kerasbert.tuning.callback_states import set_states, states_of


def captured(
    model, callbacks: Sequence[keras.callbacks.Callback], in_epoch: bool
) -> dict[str, Any] | None:
    """The state of a model in training, and of the callbacks beside it.

    Args:
        model: the model, from within its `fit`.
        callbacks: those whose state belongs to it.
        in_epoch: whether an epoch is under way, so that its metrics have something to keep.

    Returns:
        A dict for `StateFiles.write`; `None` where weights are not finite, as nothing can go on
        from there.
    """
    if hasattr(model, "jax_state_sync"):  # on JAX the state is not in the variables meanwhile
        model.jax_state_sync()
    weights = _arrays(model.variables)
    if not all(np.isfinite(each).all() for each in weights):
        return None
    return {
        "model": weights,
        "optimizer": _arrays(model.optimizer.variables),
        "metrics": _arrays(model.metrics_variables if in_epoch else ()),
        "random": random_states(),
        "callbacks": states_of(callbacks),
    }


def restore(model, callbacks: Sequence[keras.callbacks.Callback], data, state: dict) -> None:
    """Put a state back, once callbacks have set themselves up and before the first epoch.

    Args:
        model: the model, built and compiled as the one that the state is of.
        callbacks: as for `captured`.
        data: what is trained on; its first batch builds the metrics where an epoch is gone on with.
        state: what `captured` gave.

    Raises:
        ValueError: if the variables are not those of the state.
    """
    for callback in callbacks:  # before the variables: they may change which of them are trained
        callback.set_model(model)
    set_states(callbacks, state["callbacks"])
    if not model.optimizer.built:
        model.optimizer.build(model.trainable_variables)
    _assign(model.variables, state["model"], "model")
    _assign(model.optimizer.variables, state["optimizer"], "optimizer")
    if len(model.metrics_variables) < len(state["metrics"]):
        # On TensorFlow, Keras builds metrics in the first step, and it may be later than that.
        keras.Model.test_on_batch(model, *keras.utils.unpack_x_y_sample_weight(data[0]))
    set_random_states(state["random"])


def restore_metrics(model, state: dict) -> None:
    """Put the metrics of an epoch back, which Keras resets when it begins one."""
    _assign(model.metrics_variables, state["metrics"], "metrics")


def restore_random_states(state: dict) -> None:
    """Put the random states within an epoch back: torch's loader draws when it begins one."""
    set_random_states(state["random"])


def _arrays(variables) -> list[np.ndarray]:
    return [keras.ops.convert_to_numpy(variable) for variable in variables]


def _assign(variables, arrays: list[np.ndarray], what: str) -> None:
    shapes, before = [tuple(v.shape) for v in variables], [array.shape for array in arrays]
    if shapes != before:
        raise ValueError(
            f"The variables of the {what} are not those of the state, so the run cannot go on. "
            f"Build and compile the model as before. Received: {len(shapes)} variables, before: "
            f"{len(before)}; or their shapes differ."
        )
    for variable, array in zip(variables, arrays, strict=True):
        variable.assign(array)
