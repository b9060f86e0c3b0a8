"""Where in a model a variable stands, by its path."""

from __future__ import annotations

import re
from collections.abc import Iterable

_LAYER = re.compile(r"(?:^|/)layer_(\d+)/")
# The tables of relative positions (MPNet, DeBERTa) are shared by all layers.
_BELOW = re.compile(r"(?:^|/)(?:embeddings|relative_positions)/")


def part_of(path: str) -> str:
    """The part of the model: `"embeddings"`, `"layer_3"`, `"pooler"`, `"head"` and so on."""
    layer = _LAYER.search(path)
    return f"layer_{layer[1]}" if layer else path.partition("/")[0]


def depth_of(path: str, num_layers: int) -> int:
    """0 for the embeddings, i + 1 for layer i, num_layers + 1 for all that is above the layers."""
    if layer := _LAYER.search(path):
        return int(layer[1]) + 1
    return 0 if _BELOW.search(path) else num_layers + 1


def count_layers(variables: Iterable) -> int:
    """How many layers the variables belong to; shared ones (ALBERT) count once."""
    layers = (_LAYER.search(variable.path) for variable in variables)
    return max((int(layer[1]) + 1 for layer in layers if layer), default=0)
