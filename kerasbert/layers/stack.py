"""Which block is applied at which step of the stack."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Sharing:
    """Parameters shared across the stack (ALBERT; Lan et al., 2019, arXiv:1909.11942).

    The `num_layers` steps are divided evenly among `groups`; each step applies all inner layers of
    its group in sequence.

    Args:
        groups: distinct groups of layers, at most `num_layers`.
        layers_per_group: inner layers of a group.
    """

    groups: int = 1
    layers_per_group: int = 1

    def __post_init__(self):
        for name in ("groups", "layers_per_group"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"`{name}` must be an integer >= 1. Received: {name}={value!r}")


def num_blocks(config) -> int:
    """How many distinct blocks the stack of `config` (an `EncoderConfig`) has."""
    if config.sharing is None:
        return config.num_layers
    return config.sharing.groups * config.sharing.layers_per_group


def block_order(config) -> list[int]:
    """Index of the block that is applied at each step: of layer i of hidden state i + 1."""
    if config.sharing is None:
        return list(range(config.num_layers))
    inner = config.sharing.layers_per_group
    groups = [
        step * config.sharing.groups // config.num_layers for step in range(config.num_layers)
    ]
    return [group * inner + layer for group in groups for layer in range(inner)]
