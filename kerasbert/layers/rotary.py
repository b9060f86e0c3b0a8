"""Rotary positions (Su et al., 2021, arXiv:2104.09864, section 3.2)."""

from __future__ import annotations

import dataclasses

from keras import ops

from kerasbert.layers.attention import SelfAttention
from kerasbert.layers.positions import Position


class RotarySelfAttention(SelfAttention):
    """Self-attention whose queries and keys are turned by an angle that grows with the position."""

    def __init__(self, config, index=0, **kwargs):
        super().__init__(config, index, **kwargs)
        position = config.position
        is_local = self.sparse is not None and position.local_theta is not None
        self.theta = position.local_theta if is_local else position.theta

    def _rotate(self, query, key):
        half = self.head_size // 2
        frequency = self.theta ** (-ops.arange(half, dtype="float32") / half)
        place = ops.arange(ops.shape(query)[1], dtype="float32")
        angle = ops.expand_dims(ops.expand_dims(place, 1) * frequency, 1)  # (T, 1, H / 2)
        cosine, sine = ops.cos(angle), ops.sin(angle)
        return self._turn(query, cosine, sine), self._turn(key, cosine, sine)

    @staticmethod
    def _turn(x, cosine, sine):
        """Rotates each pair (x[i], x[i + H / 2]); (B, T, N, H)."""
        first, second = ops.split(ops.cast(x, "float32"), 2, axis=-1)
        turned = (first * cosine - second * sine, second * cosine + first * sine)
        return ops.cast(ops.concatenate(turned, axis=-1), x.dtype)


@dataclasses.dataclass(frozen=True)
class Rotary(Position):
    """Rotary positions.

    Args:
        theta: base of the wave lengths.
        local_theta: the base in layers with sparse attention (ModernBERT); `None` for `theta`.
    """

    theta: float = 10_000.0
    local_theta: float | None = None

    attention = RotarySelfAttention

    def __post_init__(self):
        for name in ("theta", "local_theta"):
            value = getattr(self, name)
            if value is not None and value <= 1:
                raise ValueError(f"`{name}` must be greater than 1. Received: {name}={value}")

    def check(self, config):
        head_size = config.block_dim // config.num_heads
        if head_size % 2:
            raise ValueError(
                "Rotary positions need heads of even size. Received: "
                f"hidden_dim={config.block_dim}, num_heads={config.num_heads}"
            )
