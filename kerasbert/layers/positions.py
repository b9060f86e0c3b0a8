"""Absolute positions, and what every kind of position tells the encoder."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from keras import ops

from kerasbert.layers.attention import SelfAttention


class Position:
    """How positions enter an encoder; each kind is a frozen dataclass derived from this.

    Attributes:
        attention: the `SelfAttention` that takes positions into account in this way.
        absolute: the `Absolute` positions that are added to the embeddings; `None` for none.
        key_bias: whether projections to keys may have a bias.
    """

    attention: ClassVar[type[SelfAttention]] = SelfAttention
    absolute: Absolute | None = None
    key_bias: bool = True

    def shared_layer(self, config, **kwargs):
        """A new layer whose output all blocks share, called on the padding mask; or `None`."""
        return None

    def check(self, config) -> None:
        """Raise a `ValueError` if an encoder of this configuration cannot have such positions."""


@dataclasses.dataclass(frozen=True)
class Absolute(Position):
    """Learned embeddings of absolute positions (Devlin et al., 2018).

    Args:
        offset: the table's row of the first position; the table has `max_sequence_length + offset`
            rows (fairseq's models, RoBERTa among them, start after the padding index).
        counting: `"index"` numbers all positions of the row, `"non_padding"` only real tokens, so
            that padding on the left changes nothing.
    """

    offset: int = 0
    counting: str = "index"

    def __post_init__(self):
        if self.offset < 0:
            raise ValueError(f"`offset` must not be negative. Received: offset={self.offset}")
        if self.counting not in ("index", "non_padding"):
            raise ValueError(
                f"`counting` must be 'index' or 'non_padding'. Received: counting={self.counting!r}"
            )

    @property
    def absolute(self) -> Absolute:
        return self

    def rows(self, padding_mask):
        """Rows of the position table: (1, T) or (B, T) int32 for a padding mask (B, T)."""
        if self.counting == "index":
            return (
                ops.expand_dims(ops.arange(ops.shape(padding_mask)[1], dtype="int32"), 0)
                + self.offset
            )
        real = ops.cast(padding_mask, "int32")
        counted = ops.cumsum(real, axis=1) - 1 + self.offset
        return ops.where(ops.cast(real, "bool"), counted, max(self.offset - 1, 0))
