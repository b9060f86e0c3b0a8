"""Rows of the tables of KerasHub's weights."""

from __future__ import annotations

import dataclasses
import math

from kerasbert.families.names import Row


@dataclasses.dataclass(frozen=True)
class HeadsRow(Row):
    """A variable that KerasHub keeps with an axis for the heads and one for their size.

    Args:
        axis: the axis of the heads; with the one after it, it is a single axis in ours.
    """

    axis: int = 0

    def to_ours(self, array):
        return array.reshape(self._merged(array.shape))

    def fits(self, theirs, ours):
        return self._merged(theirs) == ours

    def _merged(self, shape):
        before, heads, after = shape[: self.axis], shape[self.axis :][:2], shape[self.axis + 2 :]
        return (*before, math.prod(heads), *after)


def dense(ours: str, theirs: str) -> tuple[Row, ...]:
    """A dense layer: kernel and bias."""
    return (Row(f"{ours}/kernel", f"{theirs}/vars/0"), Row(f"{ours}/bias", f"{theirs}/vars/1"))


def norm(ours: str, theirs: str) -> tuple[Row, ...]:
    """A layer normalisation: gamma and beta."""
    return (Row(f"{ours}/gamma", f"{theirs}/vars/0"), Row(f"{ours}/beta", f"{theirs}/vars/1"))


def table(ours: str, theirs: str) -> tuple[Row, ...]:
    """A lookup table."""
    return (Row(f"{ours}/embeddings", f"{theirs}/vars/0"),)


def heads(ours: str, theirs: str) -> tuple[Row, ...]:
    """A dense layer from the hidden states to all heads: (D, N, H) and (N, H)."""
    return (
        HeadsRow(f"{ours}/kernel", f"{theirs}/vars/0", axis=1),
        HeadsRow(f"{ours}/bias", f"{theirs}/vars/1", axis=0),
    )
