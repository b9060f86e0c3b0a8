"""Tokenized texts, kept ragged, and the few widths that batches of them are padded to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerasbert.text.template import Layout

BUCKETS = (16, 32, 64, 128, 256, 512)


def resolve_buckets(buckets: Sequence[int], sequence_length: int) -> tuple[int, ...]:
    """The buckets below a limit, closed by the limit itself.

    Args:
        buckets: Ascending positive ints; empty for a single width.
        sequence_length: The limit, a positive int.

    Raises:
        ValueError: An argument is something else.

    Example:

    >>> resolve_buckets(BUCKETS, 100)
    (16, 32, 64, 100)
    """
    if not _is_positive_int(sequence_length):
        raise ValueError(
            f"`sequence_length` must be a positive int. Received: {sequence_length!r}."
        )
    buckets = tuple(buckets)
    ascending = all(a < b for a, b in itertools.pairwise(buckets))
    if not all(map(_is_positive_int, buckets)) or not ascending:
        raise ValueError(f"`buckets` must be ascending positive ints. Received: {buckets!r}.")
    below = tuple(int(width) for width in buckets if width < sequence_length)
    return (*below, int(sequence_length))


def bucket_for(length: int, buckets: Sequence[int]) -> int:
    """The smallest bucket that holds a length.

    Args:
        length: A number of tokens.
        buckets: Ascending ints.

    Raises:
        ValueError: Even the largest is too small.

    Example:

    >>> bucket_for(17, BUCKETS)
    32
    """
    index = np.searchsorted(buckets, length)
    if index == len(buckets):
        raise ValueError(
            "The largest bucket is too small. Truncate, or use larger buckets. "
            f"Received: length={length}, buckets={tuple(buckets)}."
        )
    return buckets[index]


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths in one flat array.

    Attributes:
        values: int32 array that holds all rows.
        starts: int64 array of shape (n,): where each row begins in it.
        lengths: int32 array of shape (n,). Rows may be shorter than what follows their start.
    """

    values: np.ndarray
    starts: np.ndarray
    lengths: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, lengths: np.ndarray) -> Ragged:
        """Rows that lie one after another without gaps."""
        return cls(values, np.cumsum(lengths, dtype=np.int64) - lengths, lengths)

    def cut(self, lengths: np.ndarray) -> Ragged:
        """The same rows, ended earlier."""
        return Ragged(self.values, self.starts, lengths)


class Examples:
    """Tokenized texts with their special tokens, neither padded nor kept as Python objects.

    Args:
        token_ids: `Ragged` int32 ids, special tokens included.
        segment_ids: int8 array, aligned with `token_ids.values`.
        pad_token_id: int. What fills the rest of a row.
        buckets: Ascending ints: the widths of batches.
    """

    def __init__(
        self, token_ids: Ragged, segment_ids: np.ndarray, pad_token_id: int, buckets: Sequence[int]
    ):
        self._token_ids = token_ids
        self._segment_ids = segment_ids
        self.pad_token_id = pad_token_id
        self.buckets = tuple(buckets)

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def lengths(self) -> np.ndarray:
        """int32 array of shape (n,): the number of tokens of each text."""
        return self._token_ids.lengths

    def batch(self, indices: Sequence[int], width: int | None = None) -> dict[str, np.ndarray]:
        """Pads some of the texts to one width.

        Args:
            indices: int array or list of shape (batch,): positions of texts; -1 for a row without
                real tokens, which fills up a batch.
            width: int or `None` (default): the smallest bucket that holds the longest of them.

        Returns:
            `token_ids`, `segment_ids` and `padding_mask` (1 = real token): int32 arrays of shape
            (batch, width).

        Raises:
            IndexError: There is no text at a position.
            ValueError: `width` is less than the length of a text.
        """
        indices = np.asarray(indices, dtype=np.int64).reshape(-1)
        self._check_indices(indices)
        filled = indices >= 0
        lengths = np.zeros(len(indices), np.int32)
        lengths[filled] = self.lengths[indices[filled]]
        longest = int(lengths.max(initial=0))
        if width is None:
            width = bucket_for(longest, self.buckets)
        elif width < longest:
            raise ValueError(
                f"`width` must hold the longest text. Received: width={width}, length={longest}."
            )
        real = np.arange(width) < lengths[:, None]
        sources = _ranges(self._token_ids.starts[indices[filled]], lengths[filled])
        token_ids = np.full(real.shape, self.pad_token_id, np.int32)
        segment_ids = np.zeros(real.shape, np.int32)
        token_ids[real] = self._token_ids.values[sources]
        segment_ids[real] = self._segment_ids[sources]
        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "padding_mask": real.astype(np.int32),
        }

    def _check_indices(self, indices: np.ndarray) -> None:
        wrong = indices[(indices < -1) | (indices >= len(self))]
        if len(wrong):
            raise IndexError(
                f"Positions must be from -1 to {len(self) - 1}. Received: {wrong[:10].tolist()}."
            )


def longest_first(
    first: np.ndarray, second: np.ndarray, limit: int
) -> tuple[np.ndarray, np.ndarray]:
    """How many tokens of each text of a pair stay: the longer one gives, down to an even split.

    Of an odd limit, the longer text keeps the one more (the second text, where both are equal).

    Args:
        first: int32 array of the first texts' lengths.
        second: The same of the second texts.
        limit: The most tokens of both together.

    Returns:
        The two arrays of lengths that stay.
    """
    kept_shorter = np.minimum(np.minimum(first, second), limit // 2)
    kept_longer = np.minimum(np.maximum(first, second), limit - kept_shorter)
    first_is_longer = first > second
    return (
        np.where(first_is_longer, kept_longer, kept_shorter),
        np.where(first_is_longer, kept_shorter, kept_longer),
    )


def pack(texts: Sequence[Ragged], layout: Layout) -> tuple[Ragged, np.ndarray]:
    """Puts special tokens around texts.

    Args:
        texts: The token ids of the first texts, and of the second where `layout` is of a pair.
        layout: Where the texts and the special tokens stand.

    Returns:
        The rows, and an int8 array of segment ids, aligned with their `values`.
    """
    lengths = sum(text.lengths for text in texts) + np.int32(layout.num_special_tokens)
    rows = Ragged.of(np.empty(lengths.sum(dtype=np.int64), np.int32), lengths)
    segment_ids = np.empty(len(rows.values), np.int8)
    places, remaining = rows.starts.copy(), list(texts)
    for index, segment in zip(layout.ids, layout.segments, strict=True):
        if index is not None:
            targets, values, taken = places, index, 1
        else:
            text = remaining.pop(0)
            targets = _ranges(places, text.lengths)
            values, taken = text.values[_ranges(text.starts, text.lengths)], text.lengths
        rows.values[targets] = values
        segment_ids[targets] = segment
        places = places + taken
    return rows, segment_ids


def _ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`starts[0], starts[0] + 1, ...` (`counts[0]` of them), then the same of the next row."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - counts), counts)


def _is_positive_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value > 0
