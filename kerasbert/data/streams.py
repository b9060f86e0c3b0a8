"""Examples that are read from a file while they are used, and their shuffling."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np


class ExampleStream:
    """The examples of a file as dicts, read anew at each pass and never held together in memory.

    A model's `fit` takes it; so does `shuffled`.

    Args:
        path: The file.
        read: Gives an iterator of its examples.
        has_header: Whether the file begins with a header, for what is said of one without examples.
    """

    def __init__(
        self, path: Path, read: Callable[[], Iterator[dict[str, Any]]], has_header: bool = False
    ):
        self.path, self._read, self._has_header = path, read, has_header

    def __iter__(self) -> Iterator[dict[str, Any]]:
        is_empty = True
        for example in self._read():
            is_empty = False
            yield example
        if is_empty:
            problem = "a header but no rows" if self._has_header else "no examples: it is empty"
            raise ValueError(
                f"The file has {problem}. Add examples. Received: path={str(self.path)!r}."
            )


class _Shuffled:
    def __init__(self, stream: Iterable, buffer: int, seed: int):
        self._stream, self._buffer, self._seed = stream, buffer, seed
        self._passes = 0

    def __iter__(self) -> Iterator:
        generator = np.random.default_rng([self._seed, self._passes])
        self._passes += 1
        return self._one_pass(generator)

    def _one_pass(self, generator) -> Iterator:
        waiting = []
        for example in self._stream:
            if len(waiting) < self._buffer:
                waiting.append(example)
                continue
            at = generator.integers(self._buffer)
            yield waiting[at]
            waiting[at] = example
        for at in generator.permutation(len(waiting)):
            yield waiting[at]


def shuffled(stream: Iterable, buffer: int = 10_000, seed: int = 0) -> Iterable:
    """Shuffles a stream in bounded memory: each example is drawn from as many that wait.

    A file sorted by label needs a buffer of about its length, or to be shuffled once on disk.

    Args:
        stream: What can be iterated over again, such as `stream_csv(...)` or a list; not a
            generator.
        buffer: How many examples wait. Defaults to 10,000.
        seed: A number >= 0. The same seed gives the same orders in each program. Defaults to 0.

    Returns:
        An iterable of the same examples, in another order at each pass.

    Raises:
        TypeError: `stream` can be read only once.
        ValueError: `buffer` or `seed` is no such number.

    Example:

    >>> examples = shuffled(range(100), buffer=20)
    >>> first, second = list(examples), list(examples)
    >>> first == second, sorted(first) == sorted(second) == list(range(100))
    (False, True)
    """
    if isinstance(stream, Iterator) or not hasattr(stream, "__iter__"):
        raise TypeError(
            "`stream` must be something that can be iterated over again and again, such as "
            f"`stream_csv(...)` or a list. Received: an object of type {type(stream).__name__}."
        )
    for name, value, least in (("buffer", buffer, 1), ("seed", seed, 0)):
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"`{name}` must be an int >= {least}. Received: {name}={value!r}.")
    return _Shuffled(stream, int(buffer), int(seed))
