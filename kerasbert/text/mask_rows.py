"""Texts with one token masked each: to fill masks in, and to score texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerasbert.text.packing import Examples, bucket_for, pack
from kerasbert.text.ragged import Ragged
from kerasbert.text.template import Layout


@dataclass(frozen=True)
class MaskRows:
    """Rows of a text in which one token is masked, behind the interface of `Examples`.

    A row of a text that is too long is the part of it around the masked token. Rows are put
    together batch by batch: a text of a thousand tokens may have a thousand of them.

    Attributes:
        texts: `Ragged` int32 ids of the texts, without special tokens.
        origin: int array of shape (n,): the text of each row.
        places: int array of shape (n,): which token of its text is masked.
        layout: Where special tokens stand around a text.
        room: int. The most tokens of a text in a row.
        mask_token_id: int.
        pad_token_id: int.
        buckets: Ascending ints: the widths of batches.
    """

    texts: Ragged
    origin: np.ndarray
    places: np.ndarray
    layout: Layout
    room: int
    mask_token_id: int
    pad_token_id: int
    buckets: Sequence[int]

    def __len__(self) -> int:
        return len(self.origin)

    @property
    def lengths(self) -> np.ndarray:
        """int array of shape (n,): the number of tokens of each row."""
        return self._parts(np.arange(len(self))) + self.layout.num_special_tokens

    @property
    def targets(self) -> np.ndarray:
        """int32 array of shape (n,): the ids of the tokens that are masked."""
        return self.texts.values[self.texts.starts[self.origin] + self.places]

    @property
    def whole_texts(self) -> Ragged:
        """int32 ids of the texts, however long, with special tokens."""
        return pack([self.texts], self.layout)[0]

    @property
    def num_cut(self) -> int:
        """How many texts are too long for one row."""
        return len(np.unique(self.origin[self.texts.lengths[self.origin] > self.room]))

    def width_of(self, indices: np.ndarray) -> int:
        """The bucket of a batch of these rows."""
        return bucket_for(int(self.lengths[indices[indices >= 0]].max(initial=0)), self.buckets)

    def batch(self, indices: Sequence[int]) -> dict[str, np.ndarray]:
        """Puts rows together and pads them.

        Args:
            indices: int array or list of shape (batch,): which rows; -1 for one without real
                tokens.

        Returns:
            `token_ids`, `segment_ids`, `padding_mask` int32 (batch, width), and `mask_positions`
            int32 (batch, 1).
        """
        indices = np.asarray(indices, np.int64).reshape(-1)
        real = indices >= 0
        rows = indices[real]
        lengths = self._parts(rows)
        first = np.clip(
            self.places[rows] - self.room // 2, 0, self.texts.lengths[self.origin[rows]] - lengths
        )
        parts = self.texts.slices(self.origin[rows], first, lengths)
        packed = Examples(*pack([parts], self.layout), self.pad_token_id, self.buckets)
        order = np.full(len(indices), -1)
        order[real] = np.arange(len(rows))
        inputs = packed.batch(order)
        positions = np.zeros((len(indices), 1), np.int32)
        positions[real, 0] = self.columns(rows, first)
        inputs["token_ids"][real, positions[real, 0]] = self.mask_token_id
        return {**inputs, "mask_positions": positions}

    def columns(self, rows: np.ndarray, first: np.ndarray | int = 0) -> np.ndarray:
        """Where the masked tokens stand in rows whose texts begin with their token `first`."""
        return self.layout.ids.index(None) + self.places[rows] - first

    def _parts(self, rows: np.ndarray) -> np.ndarray:
        """How many tokens of their texts rows hold."""
        return np.minimum(self.texts.lengths[self.origin[rows]], self.room)
