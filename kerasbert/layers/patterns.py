"""Which keys a query sees: all, or those of a sparse pattern whose cost grows linearly."""

from __future__ import annotations

import dataclasses


class Pattern:
    """Which keys a query sees; each kind is a frozen dataclass derived from this.

    Attributes:
        has_global_tokens: whether the encoder takes a `global_mask` (batch, length) that marks the
            tokens which see, and are seen by, all.
    """

    has_global_tokens: bool = False

    def layer(self, config, index: int, **kwargs):
        """The layer that attends sparsely in the applied layer `index`; `None` if it sees all.

        It is called as `layer(x, query, key, value, context, training=False)` with the states x
        (B, T, D), the heads (B, T, N, H) and what `SelfAttention` calls context; it gives (B, T, N,
        H).
        """
        return None

    def check(self, config) -> None:
        """Raise a `ValueError` if an encoder of this configuration cannot have this pattern."""


@dataclasses.dataclass(frozen=True)
class Full(Pattern):
    """Every query sees every key."""
