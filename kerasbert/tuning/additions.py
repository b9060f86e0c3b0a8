"""All parameter-efficient methods by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kerasbert.tuning.addition import Addition
from kerasbert.tuning.bottleneck_adapters import Adapters
from kerasbert.tuning.key_prefixes import Prefixes
from kerasbert.tuning.low_rank import LowRank
from kerasbert.tuning.soft_prompts import Prompts

METHODS = {cls.method: cls for cls in (Adapters, LowRank, Prefixes, Prompts)}


def read_additions(data: Iterable[Addition | Mapping[str, Any]]) -> list[Addition]:
    """The additions that a configuration lists.

    Args:
        data: what `Addition.to_dict` gave for each, or additions themselves.

    Raises:
        ValueError: for a method that is not known, or settings that it does not have.
    """
    return [x if isinstance(x, Addition) else _read(dict(x)) for x in data]


def _read(settings: dict[str, Any]) -> Addition:
    method = settings.pop("method", None)
    if method not in METHODS:
        raise ValueError(
            f"`additions` must be of the methods {sorted(METHODS)}. Received: method={method!r}"
        )
    try:
        return METHODS[method](**settings)
    except TypeError as error:
        raise ValueError(
            f"The method {method!r} has no such settings. Received: {settings}"
        ) from error
