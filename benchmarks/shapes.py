"""What is measured: sizes of models and batches, their inputs, and what they must compute."""

from __future__ import annotations

import dataclasses

import numpy as np

VOCABULARY_SIZE = 30522
LENGTH = 128


@dataclasses.dataclass(frozen=True)
class Shape:
    """Sizes of an encoder; weights are random, since only sizes decide the time."""

    num_layers: int
    hidden_dim: int
    num_heads: int
    intermediate_dim: int

    def flops(self, batch_size: int, length: int = LENGTH) -> int:
        """Operations of the products with weights in one forward pass.

        The products of attention (2 length / (4 hidden_dim + 2 intermediate_dim) of these: 3 % for
        BERT base and 128 tokens) and everything element-wise are left out: a floor has no slack.
        """
        d, i = self.hidden_dim, self.intermediate_dim
        return 2 * batch_size * length * self.num_layers * (4 * d * d + 2 * d * i)


SHAPES = {
    "BERT base": Shape(12, 768, 12, 3072),
    "6 layers x 768": Shape(6, 768, 12, 3072),
    "MiniLM": Shape(6, 384, 12, 1536),
}


def token_batch(batch_size: int, length: int = LENGTH) -> dict[str, np.ndarray]:
    """The same random input for every peer; all tokens are real."""
    ids = np.random.default_rng(0).integers(1, VOCABULARY_SIZE, (batch_size, length), "int32")
    return {
        "token_ids": ids,
        "segment_ids": np.zeros_like(ids),
        "padding_mask": np.ones_like(ids),
    }


def labels(batch_size: int) -> np.ndarray:
    """Class indices for a training step with two classes."""
    return (np.arange(batch_size) % 2).astype("int32")
