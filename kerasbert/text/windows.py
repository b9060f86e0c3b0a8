"""Long texts as several rows that overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kerasbert.text.aligned import AlignedTexts
from kerasbert.text.packing import Examples


@dataclass(frozen=True)
class Windows:
    """Parts of texts that together hold every token.

    Attributes:
        origin: int64 array of shape (windows,): the text of each window, ascending.
        first: int64 array of shape (windows,): the text's token at which it begins.
        lengths: int32 array of shape (windows,): how many tokens it has.
    """

    origin: np.ndarray
    first: np.ndarray
    lengths: np.ndarray


def windows_of(lengths: np.ndarray, room: np.ndarray, stride: int) -> Windows:
    """Cuts texts into windows; each text has at least one, and no window lies within another.

    Args:
        lengths: int array of shape (n,): the texts' numbers of tokens.
        room: int array of shape (n,): how many of a text's tokens a window can hold.
        stride: int. How many tokens a window shares with the one before it (the `stride` of
            transformers' tokenizers; not the distance between windows, BERT's `doc_stride`).

    Raises:
        ValueError: The stride leaves a long text no new token in a window.

    Example:

    >>> windows = windows_of(np.array([10]), np.array([6]), stride=2)
    >>> windows.first.tolist(), windows.lengths.tolist()
    ([0, 4], [6, 6])
    """
    steps = room - stride
    is_long = lengths > room
    if stride < 0 or (steps[is_long] < 1).any():
        least = int(room[is_long].min(initial=room.max(initial=0)))
        raise ValueError(
            "`stride`, the tokens that consecutive windows share, must be at least 0 and less than "
            "the tokens that a window has room for. Make it smaller, or `sequence_length` larger. "
            f"Received: stride={stride} with room for {least} tokens."
        )
    more = -(-np.maximum(lengths - room, 0) // np.maximum(steps, 1))  # rounded up
    origin = np.repeat(np.arange(len(lengths)), more + 1)
    index_in_text = np.arange(len(origin)) - np.repeat(np.cumsum(more + 1) - (more + 1), more + 1)
    first = index_in_text * steps[origin]
    first[index_in_text == 0] = 0  # a text that fits needs no step, even where it would be negative
    return Windows(origin, first, np.minimum(lengths[origin] - first, room[origin]))


class WindowedExamples(Examples):
    """Rows that are windows of aligned texts.

    Args:
        token_ids: As for `Examples`.
        segment_ids: As for `Examples`.
        pad_token_id: As for `Examples`.
        buckets: As for `Examples`.
        texts: The `AlignedTexts` that the windows are cut from.
        windows: Which part of which text each row holds.
        places: int array of shape (n,): where in its row the window's first token stands.
    """

    def __init__(
        self, token_ids, segment_ids, pad_token_id, buckets, texts: AlignedTexts, windows, places
    ):
        super().__init__(token_ids, segment_ids, pad_token_id, buckets)
        self.texts, self.windows, self.places = texts, windows, places

    @property
    def origin(self) -> np.ndarray:
        return self.windows.origin

    @property
    def num_inputs(self) -> int:
        return len(self.texts)

    def tokens_of(self, row: int) -> slice:
        """Where the tokens of a row's window are in `texts.offsets` and `texts.words`."""
        start = int(self.texts.token_ids.starts[self.origin[row]] + self.windows.first[row])
        return slice(start, start + int(self.windows.lengths[row]))

    def columns_of(self, row: int) -> slice:
        """Where the tokens of a row's window are in the row itself."""
        start = int(self.places[row])
        return slice(start, start + int(self.windows.lengths[row]))
