"""The states of the global random generators that training may draw from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import keras
import numpy as np


def random_states() -> dict[str, Any]:
    """The states of Python's, NumPy's and, where it trains the model, torch's generators.

    On torch, dropout layers without a seed draw from torch's generators; on TensorFlow and JAX all
    randomness of a model is in its variables.
    """
    return {
        "python": random.getstate(),
        "numpy": np.random.get_state(legacy=False),
        "torch": torch_states(),
    }


def set_random_states(states: dict[str, Any]) -> None:
    """Put the states back that `random_states` gave; lists may stand for its tuples."""
    version, internal, next_normal = states["python"]
    random.setstate((version, tuple(internal), next_normal))
    np.random.set_state(states["numpy"])
    set_torch_states(states["torch"])


def torch_states() -> list[np.ndarray]:
    """The states of torch's generators, of the processor and of CUDA devices; none elsewhere."""
    if keras.backend.backend() != "torch":
        return []
    import torch

    return [each.numpy() for each in (torch.get_rng_state(), *torch.cuda.get_rng_state_all())]


def set_torch_states(states: Sequence[np.ndarray]) -> None:
    """Put the states back that `torch_states` gave."""
    if not states:
        return
    import torch

    of_processor, *of_devices = map(torch.from_numpy, states)
    torch.set_rng_state(of_processor)
    torch.cuda.set_rng_state_all(of_devices)
