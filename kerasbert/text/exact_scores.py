"""Scores of unigram models in `tokenizer.json`, exact to the last bit.

The Rust library reads a number as an integer divided by a power of ten and rounds both, which puts
one score in three off by a bit. Where two ways to cut a text are equally good (as in a long row of
dots), the other one may then win.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from tokenizers import models

# Integers of 64 bits, and powers of ten that are exact as floats.
_LARGEST, _POWERS = 2**64, range(23)


def exact_unigram(model: Mapping[str, Any]) -> models.Unigram:
    """The model of a `tokenizer.json`, with its scores as Python reads them: exactly.

    Args:
        model: The entry `"model"` of the file.
    """
    vocabulary = [(piece, float(score)) for piece, score in model["vocab"]]
    return models.Unigram(vocabulary, model["unk_id"], model.get("byte_fallback", False))


def with_exact_scores(text: str) -> str:
    """Writes the scores of a unigram model in `tokenizer.json` so that the Rust library finds them.

    Args:
        text: The content of the file.
    """
    content = json.loads(text)
    vocabulary = content["model"]["vocab"]
    content["model"]["vocab"] = None
    lines = (
        f"      [{json.dumps(piece, ensure_ascii=False)}, {exact_decimal(score)}]"
        for piece, score in vocabulary
    )
    written = '"vocab": [\n' + ",\n".join(lines) + "\n    ]"
    shell = json.dumps(content, indent=2, ensure_ascii=False)
    return shell.replace('"vocab": null', written)


def exact_decimal(score: float) -> str:
    """A decimal number that both Python and the Rust library read as `score`.

    For less than one number in a thousand there is none; the shortest one is then given, which the
    Rust library reads as one of the neighbours.

    Example:

    >>> float(exact_decimal(-7.6259002685546875))
    -7.6259002685546875
    """
    size = abs(score)
    for power in _POWERS:
        nearest = float(round(size * 10**power))
        if nearest >= _LARGEST:
            break
        for dividend in (nearest, math.nextafter(nearest, 0), math.nextafter(nearest, math.inf)):
            if dividend.is_integer() and dividend / 10**power == size:
                return f"{'-' if score < 0 else ''}{int(dividend)}e-{power}"
    return repr(score)
