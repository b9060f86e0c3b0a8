"""Block-sparse attention with global, neighbouring and random blocks (BigBird; Zaheer et al., 2020,
arXiv:2007.14062, section 2 and appendix D).

Shapes: B batch, T tokens, N heads, H head size; C tokens of a block, K = T / C blocks, R random
blocks, S keys that a block sees.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from keras import ops

from kerasbert.layers.patterns import Pattern
from kerasbert.layers.sparse import SparseAttention, bias_unless, check_sparse, split


class BlockAttention(SparseAttention):
    """The first and the last block see all keys and are seen by all queries; each other block sees
    itself, the blocks beside it and random ones besides. In short inputs all see all.

    Args:
        config: an `EncoderConfig` whose `attention` is a `Blocks`.
        index: which applied layer of the stack this is.
    """

    def __init__(self, config, index, **kwargs):
        pattern = config.attention
        super().__init__(config, **kwargs)
        self.block_size = pattern.block_size
        self.random_blocks = pattern.random_blocks
        self.longest_short = (5 + 2 * pattern.random_blocks) * pattern.block_size
        self.preference = None
        if pattern.seed is not None and pattern.random_blocks:
            longest = max(config.max_sequence_length, self.longest_short + 1)
            blocks = math.ceil(longest / pattern.block_size)
            draw = np.random.default_rng((pattern.seed, index))
            # Of each head and query block for each key block. Of those that are allowed the first
            # are seen, so that they hardly change with the length.
            self.preference = draw.random((config.num_heads, blocks, blocks), "float32")

    def call(self, x, query, key, value, context, training=False):
        is_real = ops.cast(context["padding_mask"], "int32")
        length = ops.shape(query)[1]
        size = self.block_size
        if not isinstance(length, int):
            # A short input is two blocks, both of which see all keys.
            size = ops.where(length > self.longest_short, size, (length + 1) // 2)
            blocks = ops.maximum(-(-length // size), 2)
        elif length > self.longest_short:
            blocks = -(-length // size)
        else:
            return self._attend_fully(query, key, value, is_real, training)
        blocked = (split(x, size, blocks) for x in (query, key, value, is_real))
        return self._attend_sparsely(*blocked, training)[:, :length]

    def _attend_fully(self, query, key, value, is_real, training):
        bias = bias_unless(is_real, query.dtype)
        bias = ops.expand_dims(ops.expand_dims(bias, 1), 1)
        return self._attend(query, key, value, bias, training)

    def _attend_sparsely(self, query, key, value, is_real, training):
        """Blocks (B, K, C, ...) -> (B, K C, N, H)."""
        inner = self._attend_from_inner(query, key, value, is_real, training)
        query = ops.concatenate((query[:, 0], query[:, -1]), axis=1)  # (B, 2 C, N, H)
        batch, _, size = ops.shape(key)[:3]
        key, value, is_real = (
            ops.reshape(x, (batch, -1, *x.shape[3:])) for x in (key, value, is_real)
        )
        ends = self._attend_fully(query, key, value, is_real, training)
        return ops.concatenate((ends[:, :size], inner, ends[:, size:]), axis=1)

    def _attend_from_inner(self, query, key, value, is_real, training):
        """Blocks (B, K, C, ...) -> (B, (K - 2) C, N, H) for all but the first and the last."""
        batch, blocks, size = ops.shape(key)[:3]
        # Where one of the ends is a neighbour, it is seen as an end only.
        neighbours = ops.pad(is_real[:, 1:-1], ((0, 0), (1, 1), (0, 0)))
        bias = bias_unless(_ends_and_neighbours(is_real, neighbours), query.dtype)
        bias = ops.expand_dims(ops.expand_dims(bias, 2), 2)  # (B, K - 2, 1, 1, S)
        keys, values = (_ends_and_neighbours(x, x) for x in (key, value))
        if self.preference is None:
            is_first = ops.cast(ops.arange(5 * size, dtype="int32") < size, query.dtype)
            bias = bias + is_first * math.log(1 + self.random_blocks)  # it counts for those too
        else:
            index = self._random_index(blocks)
            keys, values = (
                ops.concatenate((seen, _take_blocks(x, index)), axis=2)
                for seen, x in ((keys, key), (values, value))
            )
            random = bias_unless(_take_masks(is_real, index), bias.dtype)
            bias = ops.repeat(bias, self.preference.shape[0], axis=2)
            bias = ops.concatenate((bias, random), axis=-1)  # (B, K - 2, N, 1, S)
        y = self._attend(query[:, 1:-1], keys, values, bias, training)
        return ops.reshape(y, (batch, (blocks - 2) * size, *query.shape[3:]))

    def _random_index(self, blocks):
        """The random blocks of each head and inner block, int32 (N, K - 2, R)."""
        preference = ops.convert_to_tensor(self.preference)[:, 1 : blocks - 1]
        place = ops.arange(preference.shape[2], dtype="int32")
        is_inner = ops.logical_and(place > 0, place < blocks - 1)
        distance = place - ops.expand_dims(ops.arange(1, blocks - 1, dtype="int32"), 1)
        is_new = ops.logical_and(is_inner, ops.abs(distance) > 1)  # neighbours are seen already
        preference = ops.where(is_new, preference, -1.0)
        return ops.cast(ops.top_k(preference, self.random_blocks)[1], "int32")


def _ends_and_neighbours(blocks, inner):
    """What inner blocks see, neighbours from `inner`: (B, K, C, ...) -> (B, K - 2, 5 C, ...)."""
    count = ops.shape(blocks)[1] - 2
    ends = (ops.repeat(end, count, axis=1) for end in (blocks[:, :1], blocks[:, -1:]))
    return ops.concatenate((*ends, inner[:, :-2], inner[:, 1:-1], inner[:, 2:]), axis=2)


def _take_blocks(blocks, index):
    """(B, K, C, N, H), (N, K - 2, R) -> (B, K - 2, R C, N, H)."""
    batch, _, size, heads, width = ops.shape(blocks)
    rows = ops.reshape(ops.transpose(blocks, (0, 3, 1, 2, 4)), (batch, -1, size * width))
    start = ops.reshape(ops.arange(heads, dtype="int32"), (-1, 1, 1)) * ops.shape(blocks)[1]
    taken = ops.take(rows, ops.reshape(index + start, (-1,)), axis=1)  # (B, N (K - 2) R, C H)
    shape = (batch, heads, ops.shape(index)[1], index.shape[2] * size, width)
    return ops.transpose(ops.reshape(taken, shape), (0, 2, 3, 1, 4))


def _take_masks(is_real, index):
    """(B, K, C), (N, K - 2, R) -> (B, K - 2, N, 1, R C)."""
    taken = ops.take(is_real, ops.transpose(index, (1, 0, 2)), axis=1)  # (B, K - 2, N, R, C)
    batch, blocks, heads, count, size = ops.shape(taken)
    return ops.reshape(taken, (batch, blocks, heads, 1, count * size))


@dataclasses.dataclass(frozen=True)
class Blocks(Pattern):
    """Each block of queries sees few blocks of keys, whatever the length: cost grows linearly.

    The first and the last block of an input, its padding included, see all and are seen by all. An
    input of at most `(5 + 2 * random_blocks) * block_size` tokens has full attention. Both are as
    in the released model; so the length to which a text is padded can change its states.

    Args:
        block_size: tokens of a block; inputs are padded to a multiple of it inside the layer.
        random_blocks: further blocks that each block sees.
        seed: from which each layer and head draws its random blocks, the same in training and
            inference. `None` takes the first block as often, as transformers does in inference.
    """

    block_size: int = 64
    random_blocks: int = 3
    seed: int | None = None

    def __post_init__(self):
        for name, least in (("block_size", 1), ("random_blocks", 0), ("seed", 0)):
            value = getattr(self, name)
            if value is not None and value < least:
                raise ValueError(f"`{name}` must be at least {least}. Received: {name}={value}")

    def layer(self, config, index, **kwargs):
        return BlockAttention(config, index, **kwargs)

    def check(self, config):
        check_sparse(config)
