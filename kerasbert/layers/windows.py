"""Sliding windows, and global tokens beside them (Longformer; Beltagy et al., 2020,
arXiv:2004.05150, section 3.1).

Shapes: B batch, T tokens, N heads, H head size, D = N * H hidden_dim; K blocks of C tokens, S = C +
2 reach keys near a block, G the most global tokens of a row.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from keras import ops

from kerasbert.layers.attention import SelfAttention
from kerasbert.layers.part import build_all
from kerasbert.layers.patterns import Pattern
from kerasbert.layers.sparse import SparseAttention, bias_unless, check_sparse, split
from kerasbert.layers.stack import num_blocks

SMALLEST_BLOCK = 128  # with smaller ones the matrix products are too small to be fast


class WindowAttention(SparseAttention):
    """Each query sees the keys at most `reach` away. A block of queries is multiplied with its own
    keys and the nearest `reach` on either side, so that cost grows linearly with T.

    Args:
        config: an `EncoderConfig`.
        reach: how far a query sees to each side.
    """

    def __init__(self, config, reach, **kwargs):
        super().__init__(config, **kwargs)
        self.reach = reach
        self.block_size = max(reach, SMALLEST_BLOCK)

    def call(self, x, query, key, value, context, training=False):
        is_real = ops.cast(context["padding_mask"], "int32")
        return self._attend_nearby(query, key, value, is_real, (), training)

    def _attend_nearby(self, query, key, value, is_seen, others, training):
        """Windows over the keys that `is_seen` (B, T) marks, and `others` beside them: keys, values
        (B, G, N, H) and which of those are seen (B, G); or nothing."""
        batch, length = ops.shape(query)[:2]
        size, reach = self.block_size, self.reach
        if not isinstance(length, int):
            size = ops.minimum(length, size)
            reach = ops.where(length > size, reach, 0)
        elif length <= size:  # one block, without neighbours
            size, reach = length, 0
        blocks = -(-length // size)
        query, key, value, is_seen = (split(x, size, blocks) for x in (query, key, value, is_seen))
        key, value, is_seen = (_with_neighbours(x, size, reach) for x in (key, value, is_seen))
        place = ops.expand_dims(ops.arange(size, dtype="int32") + reach, 1)
        distance = place - ops.arange(size + 2 * reach, dtype="int32")  # (C, S)
        is_near = ops.abs(distance) <= self.reach
        if others:
            key, value, is_seen = (
                ops.concatenate((x, ops.repeat(ops.expand_dims(y, 1), blocks, axis=1)), axis=2)
                for x, y in zip((key, value, is_seen), others, strict=True)
            )
            is_near = ops.pad(is_near, ((0, 0), (0, others[0].shape[1])), constant_values=True)
        is_seen = ops.logical_and(ops.expand_dims(ops.cast(is_seen, "bool"), 2), is_near)
        bias = ops.expand_dims(bias_unless(is_seen, query.dtype), 2)  # the same for all heads
        y = self._attend(query, key, value, bias, training)
        return ops.reshape(y, (batch, -1, *query.shape[3:]))[:, :length]


class GlobalWindowAttention(WindowAttention):
    """Windows in which each query also sees the global tokens, which themselves see all tokens,
    with projections of their own.

    Args:
        config: an `EncoderConfig` whose `attention` is a `Window`.
        reach: how far the other queries see to each side.
    """

    def __init__(self, config, reach, **kwargs):
        super().__init__(config, reach, **kwargs)
        self.slots = np.arange(config.attention.max_global_tokens, dtype="int32")[:, None]  # (G, 1)
        self.query, self.key, self.value = (
            self._dense(config.block_dim, name) for name in ("query", "key", "value")
        )

    def build(self, x_shape):
        build_all(x_shape, self.query, self.key, self.value)
        super().build()

    def call(self, x, query, key, value, context, training=False):
        is_real = ops.cast(context["padding_mask"], "int32")
        slot = self._slot(is_real * ops.cast(context["global_mask"], "int32"))  # (B, T)
        is_in_slot = ops.cast(ops.equal(ops.expand_dims(slot, 1), self.slots), "int32")  # (B, G, T)
        place = ops.argmax(is_in_slot, axis=2)  # (B, G)
        others = _take_rows(key, place), _take_rows(value, place), ops.max(is_in_slot, axis=2)
        is_local = slot < 0
        is_seen = is_real * ops.cast(is_local, "int32")  # a global token counts once
        y = self._attend_nearby(query, key, value, is_seen, others, training)
        y_global = self._attend_globally(x, place, is_real, query.shape[2:], training)
        y_global = _take_rows(y_global, ops.maximum(slot, 0))  # (B, T, N, H)
        return ops.where(ops.expand_dims(ops.expand_dims(is_local, -1), -1), y, y_global)

    def _slot(self, is_global):
        """Each token's number (B, T) among its row's global tokens; -1 if it is not one."""
        number = ops.cumsum(is_global, axis=1)
        is_slot = ops.logical_and(is_global > 0, number <= len(self.slots))
        return ops.where(is_slot, number, 0) - 1

    def _attend_globally(self, x, place, is_real, heads, training):
        """The output (B, G, N, H) of the global tokens at `place`."""
        pairs = (self.query, _take_rows(x, place)), (self.key, x), (self.value, x)
        query, key, value = (
            ops.reshape(project(y), (-1, ops.shape(y)[1], *heads)) for project, y in pairs
        )
        bias = ops.expand_dims(ops.expand_dims(bias_unless(is_real, x.dtype), 1), 1)
        return self._attend(query, key, value, bias, training)


def _with_neighbours(x, size, reach):
    """Blocks (B, K, C, ...) with the nearest of those beside them (B, K, S, ...), zeros beyond the
    ends."""
    if isinstance(reach, int) and not reach:
        return x
    rest = ((0, 0),) * (len(x.shape) - 2)
    before = ops.pad(x[:, :-1, size - reach :], ((0, 0), (1, 0), *rest))
    after = ops.pad(x[:, 1:, :reach], ((0, 0), (0, 1), *rest))
    return ops.concatenate((before, x, after), axis=2)


def _take_rows(x, index):
    """x[b, index[b, i]] for x (B, T, ...) and index (B, I) -> (B, I, ...)."""
    batch, length = ops.shape(x)[:2]
    start = ops.expand_dims(ops.arange(batch, dtype="int32") * length, 1)
    flat = ops.reshape(x, (-1, *x.shape[2:]))
    return ops.take(flat, ops.cast(index, "int32") + start, axis=0)


@dataclasses.dataclass(frozen=True)
class Window(Pattern):
    """Each query sees the keys around it, whatever the length: cost grows linearly with it.

    Args:
        width: how many tokens a window spans, half to each side: a query sees the keys at most
            `width // 2` away. A tuple gives each layer its own.
        global_every: layers 0, `global_every`, 2 * `global_every` ... see all keys (ModernBERT);
            `None` for no such layers.
        global_tokens: whether tokens that `global_mask` marks are seen by all and see all, the
            latter with projections of their own (Longformer).
        max_global_tokens: how many tokens of a row can be global; any further ones are treated as
            ordinary tokens. Each costs as much as one key more in every window.
    """

    width: int | tuple[int, ...] = 512
    global_every: int | None = None
    global_tokens: bool = False
    max_global_tokens: int = 64

    def __post_init__(self):
        widths = self.width if isinstance(self.width, tuple) else (self.width,)
        counts = {"width": min(widths, default=0), "max_global_tokens": self.max_global_tokens}
        if self.global_every is not None:
            counts["global_every"] = self.global_every
        for name, value in counts.items():
            if value < 1:
                raise ValueError(
                    f"`{name}` must be at least 1. Received: {name}={getattr(self, name)}"
                )

    @property
    def has_global_tokens(self) -> bool:
        return self.global_tokens

    def layer(self, config, index, **kwargs):
        if self.global_every and index % self.global_every == 0:
            return None
        width = self.width[index] if isinstance(self.width, tuple) else self.width
        kind = GlobalWindowAttention if self.global_tokens else WindowAttention
        return kind(config, width // 2, **kwargs)

    def check(self, config):
        check_sparse(config)
        if isinstance(self.width, tuple) and len(self.width) != num_blocks(config):
            raise ValueError(
                "`width` must be one number, or one for each layer. Received: "
                f"width={self.width} for {num_blocks(config)} layers"
            )
        if self.global_tokens and config.position.attention is not SelfAttention:
            raise ValueError(
                "Global tokens need absolute positions: their projections have no others. "
                f"Received: attention={self}, position={config.position}"
            )
