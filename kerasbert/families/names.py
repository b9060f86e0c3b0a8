"""Reversible tables of variable names: ours, and those of a family's Hugging Face files.

`{i}` in a name is the index of a block; `{group}` and `{inner}` are its group and its place in the
group where layers are shared. Kernels of dense layers are (in, out) in Keras and (out, in) there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from kerasbert.layers import EncoderConfig, num_blocks


@dataclasses.dataclass(frozen=True)
class Row:
    """One variable: `ours` is its path in the Keras model, `theirs` the key in the file.

    Args:
        ours: path of the Keras variable.
        theirs: key in the file, without the family's prefix.
        transpose: whether the two are transposes of each other.
        prefixed: whether the key carries the family's prefix in the file of a task model.
    """

    ours: str
    theirs: str
    transpose: bool = False
    prefixed: bool = True

    def at(self, block: int, config: EncoderConfig) -> Row:
        """This row for one block."""
        per_group = config.sharing.layers_per_group if config.sharing else 1
        group, inner = divmod(block, per_group)
        place = {"i": block, "group": group, "inner": inner}
        return dataclasses.replace(
            self, ours=self.ours.format(**place), theirs=self.theirs.format(**place)
        )


def dense(ours: str, theirs: str, prefixed: bool = True) -> tuple[Row, ...]:
    """A dense layer: kernel and bias."""
    return (
        Row(f"{ours}/kernel", f"{theirs}.weight", transpose=True, prefixed=prefixed),
        Row(f"{ours}/bias", f"{theirs}.bias", prefixed=prefixed),
    )


def norm(ours: str, theirs: str) -> tuple[Row, ...]:
    """A layer normalisation: gamma and beta."""
    return (Row(f"{ours}/gamma", f"{theirs}.weight"), Row(f"{ours}/beta", f"{theirs}.bias"))


def embedding(ours: str, theirs: str) -> tuple[Row, ...]:
    """A lookup table."""
    return (Row(f"{ours}/embeddings", f"{theirs}.weight"),)


def expand(rows: Iterable[Row], config: EncoderConfig) -> list[Row]:
    """The rows of a model with this configuration, one for each block where they say `{i}`."""
    expanded = []
    for row in rows:
        blocks = range(num_blocks(config)) if "{i}" in row.ours else (0,)
        expanded.extend(row.at(block, config) for block in blocks)
    return expanded
