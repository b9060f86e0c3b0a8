"""Reversible tables of variable names: ours, and those of a family's Hugging Face files.

`{i}` in a name is the index of a block; `{group}` and `{inner}` are its group and its place in the
group where layers are shared; `{j}` counts the stacked feed-forward layers before a block's last.
Kernels of dense layers are (in, out) in Keras and (out, in) there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np

from kerasbert.layers import EncoderConfig, num_blocks


@dataclasses.dataclass(frozen=True)
class Part:
    """One of several matrices that a file keeps as one, side by side along the first axis.

    Args:
        index: which one.
        count: how many there are.
        heads: `None` if each stands in one piece; else they are interleaved, each head's rows of
            the first, then its rows of the second and so on, for so many heads (0 for those of the
            encoder).
    """

    index: int
    count: int
    heads: int | None = None

    def cut(self, whole: np.ndarray) -> np.ndarray:
        """This part of the whole."""
        shape = (self.heads or 1, self.count, -1, *whole.shape[1:])
        return whole.reshape(shape)[:, self.index].reshape(-1, *whole.shape[1:])

    def join(self, parts: Sequence[np.ndarray]) -> np.ndarray:
        """The whole of all parts, in order."""
        split = [part.reshape(self.heads or 1, -1, *part.shape[1:]) for part in parts]
        return np.stack(split, axis=1).reshape(-1, *parts[0].shape[1:])


@dataclasses.dataclass(frozen=True)
class Row:
    """One variable: `ours` is its path in the Keras model, `theirs` the key in the file.

    Args:
        ours: path of the Keras variable.
        theirs: key in the file, without the family's prefix.
        transpose: whether the two are transposes of each other (of all axes).
        prefixed: whether the key carries the family's prefix in the file of a task model.
        part: the part of the key's array that this variable is, if not all of it.
        also: other keys under which files have it; they are read and never written.
    """

    ours: str
    theirs: str
    transpose: bool = False
    prefixed: bool = True
    part: Part | None = None
    also: tuple[str, ...] = ()

    def at(self, config: EncoderConfig, block: int, feed_forward: int) -> Row:
        """This row for one block and one stacked feed-forward layer of it."""
        per_group = config.sharing.layers_per_group if config.sharing else 1
        group, inner = divmod(block, per_group)
        place = {"i": block, "group": group, "inner": inner, "j": feed_forward}
        part = self.part
        if part is not None and part.heads is not None:
            part = dataclasses.replace(part, heads=config.num_heads)
        return dataclasses.replace(
            self, ours=self.ours.format(**place), theirs=self.theirs.format(**place), part=part
        )

    def to_ours(self, array: np.ndarray) -> np.ndarray:
        """The variable's value from the key's array."""
        array = array if self.part is None else self.part.cut(array)
        return array.T if self.transpose else array

    def fits(self, theirs: tuple[int, ...], ours: tuple[int, ...]) -> bool:
        """Whether a key's array and the variable have shapes that go together."""
        return theirs == self.shape_of_theirs(ours)

    def shape_of_theirs(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the key's array, from that of the variable."""
        shape = shape[::-1] if self.transpose else shape
        return shape if self.part is None else (shape[0] * self.part.count, *shape[1:])


def dense(
    ours: str, theirs: str, prefixed: bool = True, part: Part | None = None
) -> tuple[Row, ...]:
    """A dense layer (or a convolution): kernel and bias."""
    return (
        Row(f"{ours}/kernel", f"{theirs}.weight", True, prefixed, part),
        Row(f"{ours}/bias", f"{theirs}.bias", False, prefixed, part),
    )


def fused(ours: Sequence[str], theirs: str) -> tuple[Row, ...]:
    """Dense layers of one size that the file keeps as one, each in one piece."""
    count = len(ours)
    return tuple(
        row
        for index, name in enumerate(ours)
        for row in dense(name, theirs, part=Part(index, count))
    )


def norm(ours: str, theirs: str, prefixed: bool = True) -> tuple[Row, ...]:
    """A norm: gamma and beta."""
    return (
        Row(f"{ours}/gamma", f"{theirs}.weight", prefixed=prefixed),
        Row(f"{ours}/beta", f"{theirs}.bias", prefixed=prefixed),
    )


def embedding(ours: str, theirs: str) -> tuple[Row, ...]:
    """A lookup table."""
    return (Row(f"{ours}/embeddings", f"{theirs}.weight"),)


def expand(rows: Iterable[Row], config: EncoderConfig) -> list[Row]:
    """The rows of a model with this configuration: one for each block where they say `{i}`, and for
    each stacked feed-forward layer where they say `{j}`."""
    stacked = config.bottleneck.feed_forwards - 1 if config.bottleneck else 0
    expanded = []
    for row in rows:
        blocks = range(num_blocks(config)) if "{i}" in row.ours else (0,)
        layers = range(stacked) if "{j}" in row.ours else (0,)
        expanded.extend(row.at(config, block, layer) for block in blocks for layer in layers)
    return expanded
