"""Tokenized texts, kept ragged, and the few widths that batches of them are padded to."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from kerasbert.text.ragged import Ragged, ranges
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


def finer(buckets: Sequence[int]) -> tuple[int, ...]:
    """Every eighth width up to the largest bucket, for where a new shape costs nothing.

    Example:

    >>> finer((16, 32, 36))
    (8, 16, 24, 32, 36)
    """
    return (*range(8, buckets[-1], 8), buckets[-1])


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
    def token_ids(self) -> Ragged:
        """int32 ids of each text, special tokens included."""
        return self._token_ids

    @property
    def origin(self) -> np.ndarray:
        """int array of shape (n,): which of the task's inputs each row comes from, ascending."""
        return np.arange(len(self))

    @property
    def num_inputs(self) -> int:
        """How many inputs there were; a long one may have become several rows."""
        return len(self)

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
        if width is None:
            width = self.width_of(indices)
        elif width < self._longest(indices):
            raise ValueError(
                "`width` must hold the longest text. "
                f"Received: width={width}, length={self._longest(indices)}."
            )
        is_real, sources = self._token_ids.places(indices, width)
        token_ids = np.full(is_real.shape, self.pad_token_id, np.int32)
        segment_ids = np.zeros(is_real.shape, np.int32)
        token_ids[is_real] = self._token_ids.values[sources]
        segment_ids[is_real] = self._segment_ids[sources]
        return {
            "token_ids": token_ids,
            "segment_ids": segment_ids,
            "padding_mask": is_real.astype(np.int32),
        }

    def width_of(self, indices: np.ndarray) -> int:
        """The bucket of a batch of these rows."""
        return bucket_for(self._longest(indices), self.buckets)

    def _longest(self, indices: np.ndarray) -> int:
        return int(self.lengths[indices[indices >= 0]].max(initial=0))

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
            targets = ranges(places, text.lengths)
            values, taken = text.values[ranges(text.starts, text.lengths)], text.lengths
        rows.values[targets] = values
        segment_ids[targets] = segment
        places = places + taken
    return rows, segment_ids


def _is_positive_int(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and value > 0
