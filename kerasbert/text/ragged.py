"""Rows of different lengths in one flat array."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths in one flat array.

    Attributes:
        values: array of shape (total, ...) that holds all rows.
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

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, row: int) -> np.ndarray:
        """One row."""
        return self.values[self.starts[row] : self.starts[row] + self.lengths[row]]

    def cut(self, lengths: np.ndarray) -> Ragged:
        """The same rows, ended earlier."""
        return Ragged(self.values, self.starts, lengths)

    def slices(self, rows: np.ndarray, first: np.ndarray, lengths: np.ndarray) -> Ragged:
        """Parts of rows: of row `rows[i]` what begins at `first[i]`, `lengths[i]` long."""
        return Ragged(self.values, self.starts[rows] + first, lengths)

    def places(self, rows: np.ndarray, width: int) -> tuple[np.ndarray, np.ndarray]:
        """Where values go in a padded array, and where in `values` they come from.

        Args:
            rows: int array of shape (batch,); -1 for an empty row.
            width: int, at least the longest row's length.

        Returns:
            A bool array of shape (batch, width), and the indices of what fills it.
        """
        filled = rows >= 0
        lengths = np.zeros(len(rows), np.int32)
        lengths[filled] = self.lengths[rows[filled]]
        is_real = np.arange(width) < lengths[:, None]
        return is_real, ranges(self.starts[rows[filled]], lengths[filled])

    def padded(self, rows: np.ndarray, width: int, fill) -> np.ndarray:
        """Some rows in one int32 array of shape (batch, width), filled up with `fill`."""
        is_real, sources = self.places(rows, width)
        array = np.full(is_real.shape, fill, np.int32)
        array[is_real] = self.values[sources]
        return array


def ranges(starts: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """`starts[0], starts[0] + 1, ...` (`counts[0]` of them), then the same of the next row."""
    ends = np.cumsum(counts, dtype=np.int64)
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + np.repeat(starts - (ends - counts), counts)
