"""What tells one training run from another, so that none goes on with the state of another."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from kerasbert.tuning.optimizers import inner

# At so many steps along the run its learning rates are compared.
_POINTS = 9


def facts_of(model, data, first_epoch: int, steps: tuple[int, int]) -> dict[str, Any]:
    """The facts that must stay as they are for a run to go on.

    Args:
        model: the model, built and compiled.
        data: what it is trained on; asked for its `facts()` where it has them.
        first_epoch: the epoch that the run begins with.
        steps: between which steps learning rates are compared.
    """
    shapes = [(tuple(each.shape), str(each.dtype)) for each in model.variables]
    optimizer = inner(model.optimizer)
    return {
        "backend": keras.backend.backend(),
        "model": f"{type(model).__name__} with {len(shapes)} variables "
        f"({hashlib.blake2b(repr(shapes).encode(), digest_size=4).hexdigest()})",
        "optimizer": type(optimizer).__name__,
        "first epoch": first_epoch,
        "learning rates": _rates(optimizer, np.linspace(*steps, _POINTS, dtype=int).tolist()),
        **(data.facts() if hasattr(data, "facts") else {"data": type(data).__name__}),
    }


def check_same_run(before: dict[str, Any], now: dict[str, Any], epochs: tuple[int, int]) -> None:
    """Refuse to go on with another run.

    Args:
        before: the facts in the state.
        now: those of the present call.
        epochs: the number of epochs then and now.

    Raises:
        ValueError: if they differ.
    """
    names = [name for name in before | now if before.get(name) != now.get(name)]
    if names == ["learning rates"] and epochs[0] != epochs[1]:
        raise ValueError(
            "The schedule of learning rates spans all epochs, so a run cannot go on with another "
            "number of them. Give the number of before, or train the finished model in a new "
            f"folder. Received: epochs={epochs[1]}, before: epochs={epochs[0]}."
        )
    if names:
        differences = "; ".join(f"{n}: {now.get(n)}, before: {before.get(n)}" for n in names)
        raise ValueError(
            "The states in the folder are those of another run. Call `fit` as before to go on with "
            f"it, or give this run a folder of its own. Received: {differences}."
        )


def check_can_go_on(data, steps: int | None, in_steps: bool) -> None:
    """Refuse data on which a run could not go on after a kill.

    Args:
        data: what is trained on.
        steps: batches of an epoch, if known.
        in_steps: whether it is to go on within epochs.

    Raises:
        ValueError: for a generator; for ready batches, where epochs are not passes through them.
    """
    if isinstance(data, Iterator) or getattr(data, "is_one_pass", False):
        raise ValueError(
            "A run on a generator cannot go on, as it cannot be read again. Give lists, or a "
            "dataset that can, such as a `keras.utils.PyDataset` or a `tf.data.Dataset`. "
            f"Received: x of type {type(data).__name__}."
        )
    if hasattr(data, "begin_epoch"):
        return
    if in_steps:
        raise ValueError(
            "On a dataset of ready batches, a run can go on at the beginning of an epoch only: use "
            '`every="epoch"`, or give texts or a dict of arrays. '
            f"Received: x of type {type(data).__name__}."
        )
    if steps is not None and steps != _length(data):
        raise ValueError(
            "On a dataset of ready batches, only a run whose epochs read all of it can go on. "
            f"Leave `steps_per_epoch` out. Received: steps_per_epoch={steps}."
        )


def _length(data) -> int | None:
    try:
        return len(data)
    except TypeError:  # it has none, or does not know it
        return None


def _rates(optimizer, steps: list[int]) -> list[float] | None:
    """The rates of a schedule at some steps, `None` where there is no schedule."""
    schedule = optimizer._learning_rate
    if not isinstance(schedule, keras.optimizers.schedules.LearningRateSchedule):
        return None
    rates = [float(keras.ops.convert_to_numpy(schedule(step))) for step in steps]
    return [float(np.format_float_scientific(rate, precision=5)) for rate in rates]
