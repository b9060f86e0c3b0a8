"""What counts as text, and how it becomes lists of strings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

PAIR_FORM = '{"text": [...], "text_pair": [...]}'


def is_raw(x: Any) -> bool:
    """Whether `x` holds text, as opposed to token ids that a model takes directly.

    Args:
        x: A string, a list, an array or tensor, or a dict.

    Returns:
        `True` for strings, for lists, arrays and tensors of them, and for dicts of these; also for
        lists with a string anywhere, so that what is wrong with the rest is said
        where texts are read.
    """
    if isinstance(x, str | bytes):
        return True
    if isinstance(x, Mapping):
        return "text" in x or any(is_raw(value) for value in x.values())
    if isinstance(x, list | tuple):
        return not x or any(is_raw(item) for item in x)
    return _has_text_dtype(x)


def as_texts(x: Any, name: str) -> list[str]:
    """Turns one text or many into a list of strings.

    Args:
        x: A string or bytes (UTF-8); a list of them; a NumPy array or a TensorFlow tensor of them,
            of shape (n,), (n, 1) or (); or a pandas series.
        name: What errors call it.

    Raises:
        TypeError: Something is not text. The message names its position and type.
        ValueError: The array has more dimensions, or a text is not valid Unicode.
    """
    if isinstance(x, str | bytes):
        return [_as_text(x, name, None)]
    if not isinstance(x, list):
        x = _as_list(x, name)
    return [
        text if type(text) is str and text.isascii() else _as_text(text, name, position)
        for position, text in enumerate(x)
    ]


def text_columns(x: Any) -> list[list[str]]:
    """Texts as one list of strings, pairs of texts as two lists of the same length.

    Args:
        x: What `as_texts` takes; or pairs: `{"text": ..., "text_pair": ...}` of these.

    Raises:
        TypeError: Something is not text; the message names its position and type.
        ValueError: A dict has other keys, or texts and second texts differ in number.
    """
    if not isinstance(x, Mapping):
        return [as_texts(x, "x")]
    if "text" not in x or not {"text", "text_pair"}.issuperset(x):
        raise ValueError(
            f'A dict of texts has the keys "text" and, for pairs, "text_pair": {PAIR_FORM}. '
            f"Received: keys={list(x)}."
        )
    columns = [as_texts(column, name) for name, column in sorted(x.items())]
    if len({len(column) for column in columns}) > 1:
        raise ValueError(
            "`text` and `text_pair` must have the same length. "
            f"Received: {len(columns[0])} and {len(columns[1])} texts."
        )
    return columns


def is_paired(x: Any) -> bool:
    """Whether texts come in pairs."""
    return isinstance(x, Mapping) and "text_pair" in x


def texts_one_by_one(x: Any) -> list[str]:
    """All texts in one list, the two of each pair (see `text_columns`) one after another."""
    return [text for texts in zip(*text_columns(x), strict=True) for text in texts]


def _as_list(x: Any, name: str) -> list:
    if isinstance(x, tuple):
        raise TypeError(
            f"`{name}` must not be a tuple, which Keras reads as (x, y). Give many texts as a list "
            f"and pairs as {PAIR_FORM}. Received: a tuple of length {len(x)}."
        )
    if not _has_text_dtype(x):
        kind = getattr(x, "dtype", type(x).__name__)
        raise TypeError(
            f"`{name}` must hold text: a string, or a list or array of strings. "
            f"Received: {name}={_shown(x)} of type {kind}."
        )
    array = _as_array(x)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim > 1:
        raise ValueError(
            f"`{name}` must be one text per example. Give pairs as {PAIR_FORM}. "
            f"Received: shape={array.shape}."
        )
    return array.reshape(-1).tolist()


def _has_text_dtype(x: Any) -> bool:
    # `.dtype` is NumPy's, pandas' or TensorFlow's; the latter two are known by name alone.
    dtype = getattr(x, "dtype", None)
    return getattr(dtype, "kind", None) in ("U", "S", "O", "T") or "string" in str(dtype)


def _as_array(x: Any) -> np.ndarray:
    if not isinstance(x, np.ndarray) and hasattr(x, "numpy"):
        x = x.numpy()
    return np.asarray(x, dtype=object) if not isinstance(x, np.ndarray) else x


def _as_text(text: Any, name: str, position: int | None) -> str:
    place = name if position is None else f"{name}[{position}]"
    if not isinstance(text, str | bytes):
        raise TypeError(
            f"Every text must be a string. Replace or drop what is not (an empty text is ''). "
            f"Received: {place}={_shown(text)} of type {type(text).__name__}."
        )
    try:
        if isinstance(text, bytes):
            return text.decode("utf-8")
        text.encode("utf-8")  # Lone surrogates, which the Rust library refuses without a reason.
    except UnicodeError as error:
        raise ValueError(
            "A text is not valid Unicode. Decode it with its right encoding, or with "
            f'errors="replace". Received: {place}={_shown(text)} ({error.reason}).'
        ) from error
    return str(text)


def _shown(value: Any) -> str:
    shown = ascii(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."
