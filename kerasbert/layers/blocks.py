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
from kerasbert.layers.sparse import SparseAttention, bias_unless, check_sparse, if_else


class BlockAttention(SparseAttention):
    """The first and the last block see all keys and are seen by all queries; each other block sees
    itself, the blocks beside it and random ones besides. In short inputs all see all.

    Args:
        config: an `EncoderConfig` whose `attention` is a `Blocks`.
        index: which applied layer of the stack this is.
    """

    def __init__(self, config, index, **kwargs):
        pattern = config.attention
        super().__init__(config, pattern.block_size, **kwargs)
        self.random_blocks = pattern.random_blocks
        self.longest_short = (5 + 2 * pattern.random_blocks) * pattern.block_size
        self.preference = None
        if pattern.seed is not None and pattern.random_blocks:
            longest = max(config.max_sequence_length, self.longest_short + 1)
            blocks = math.ceil(longest / pattern.block_size)
            draw = np.random.default_rng((pattern.seed, index))
            # Of each head and query block for each key block: the best that are allowed are seen,
            # so that blocks hardly change with the length.
            self.preference = draw.random((config.num_heads, blocks, blocks), "float32")

    def call(self, x, query, key, value, context, training=False):
        heads = query, key, value, ops.cast(context["padding_mask"], "int32")
        length = ops.shape(query)[1]
        is_short = length <= self.longest_short
        if not isinstance(length, int):
            # XLA compiles both branches for each length: the second must exist for short ones too.
            length = ops.maximum(length, self.longest_short + 1)
        return if_else(
            is_short,
            lambda: self._attend_fully(*heads, training),
            lambda: self._attend_sparsely(*heads, length, training),
        )

    def _attend_fully(self, query, key, value, is_real, training):
        bias = bias_unless(is_real, query.dtype)
        bias = ops.expand_dims(ops.expand_dims(bias, 1), 1)
        return self._attend(query, key, value, bias, training)

    def _attend_sparsely(self, query, key, value, is_real, least, training):
        batch, length = ops.shape(query)[:2]
        query, key, value, is_real = (self._blocks(x, least) for x in (query, key, value, is_real))
        inner = self._attend_from_inner(query, key, value, is_real, training)
        query = ops.concatenate((query[:, 0], query[:, -1]), axis=1)  # (B, 2 C, N, H)
        key, value, is_real = (
            ops.reshape(x, (batch, -1, *x.shape[3:])) for x in (key, value, is_real)
        )
        ends = self._attend_fully(query, key, value, is_real, training)
        first, last = ends[:, : self.block_size], ends[:, self.block_size :]
        return ops.concatenate((first, inner, last), axis=1)[:, :length]

    def _attend_from_inner(self, query, key, value, is_real, training):
        """The output (B, T - 2 C, N, H) of all blocks but the first and the last.

        Blocks are (B, K, C, N, H), `is_real` (B, K, C).
        """
        # Where one of the ends is a neighbour, it is seen as an end only.
        neighbours = ops.pad(is_real[:, 1:-1], ((0, 0), (1, 1), (0, 0)))
        bias = bias_unless(_ends_and_neighbours(is_real, neighbours), query.dtype)
        bias = ops.expand_dims(ops.expand_dims(bias, 2), 2)  # (B, K - 2, 1, 1, S)
        keys, values = (_ends_and_neighbours(x, x) for x in (key, value))
        if self.preference is None:
            bias = bias + self._bias_of_first(bias.dtype)
        else:
            index = self._random_index(ops.shape(key)[1])
            keys, values = (
                ops.concatenate((seen, _take_blocks(x, index)), axis=2)
                for seen, x in ((keys, key), (values, value))
            )
            random = bias_unless(_take_masks(is_real, index), bias.dtype)
            bias = ops.repeat(bias, self.preference.shape[0], axis=2)
            bias = ops.concatenate((bias, random), axis=-1)  # (B, K - 2, N, 1, S)
        y = self._attend(query[:, 1:-1], keys, values, bias, training)
        return ops.reshape(y, (ops.shape(query)[0], -1, *query.shape[3:]))

    def _bias_of_first(self, dtype):
        """The first block counts once for itself and once for each random block (S,)."""
        counts = np.ones(5 * self.block_size, "float32")
        counts[: self.block_size] += self.random_blocks
        return ops.cast(np.log(counts), dtype)

    def _random_index(self, blocks):
        """The random blocks of each head and inner block, int32 (N, K - 2, R)."""
        inner = ops.arange(1, blocks - 1, dtype="int32")
        distance = ops.abs(ops.expand_dims(inner, 0) - ops.expand_dims(inner, 1))
        preference = ops.convert_to_tensor(self.preference)[:, 1 : blocks - 1, 1 : blocks - 1]
        preference = ops.where(distance > 1, preference, -1.0)  # neighbours are seen already
        return ops.cast(ops.top_k(preference, self.random_blocks)[1], "int32") + 1


def _ends_and_neighbours(blocks, inner):
    """What inner blocks see, their neighbours from `inner`: (B, K, C, ...) -> (B, K - 2, 5 C, ...)."""
    count = ops.shape(blocks)[1] - 2
    ends = (ops.repeat(end, count, axis=1) for end in (blocks[:, :1], blocks[:, -1:]))
    return ops.concatenate((*ends, inner[:, :-2], inner[:, 1:-1], inner[:, 2:]), axis=2)


def _take_blocks(blocks, index):
    """(B, K, C, N, H), (N, K - 2, R) -> (B, K - 2, R C, N, H)."""
    batch, _, size, heads, width = ops.shape(blocks)
    rows = ops.reshape(ops.transpose(blocks, (0, 3, 1, 2, 4)), (batch, -1, size * width))
    start = ops.reshape(ops.arange(heads, dtype="int32"), (-1, 1, 1)) * ops.shape(blocks)[1]
    taken = ops.take(rows, ops.reshape(index + start, (-1,)), axis=1)  # (B, N (K - 2) R, C H)
    shape = (batch, heads, -1, index.shape[2] * size, width)
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
