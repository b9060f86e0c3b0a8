"""Masked tokens as labels of their own."""

from __future__ import annotations

import numpy as np

from kerasbert.text import MaskedLMPreprocessor


class MaskTargets:
    """The labels of masked tokens, for `Batches`: masks are drawn when a batch is made.

    Args:
        preprocessor: a `MaskedLMPreprocessor`.
        are_new: whether a text is masked in other places each time; otherwise always in the same.
    """

    def __init__(self, preprocessor: MaskedLMPreprocessor, are_new: bool):
        self._preprocessor, self._are_new = preprocessor, are_new
        self._pass: tuple[int, ...] | None = None

    def new_seed(self) -> int | None:
        """A seed for `begin_pass`, where masks are new."""
        return self._preprocessor.new_seed() if self._are_new else None

    def begin_pass(self, seed: int, number: int) -> None:
        """From here on, new masks depend on these and on the rows of their batch alone."""
        self._pass = (seed, number)

    def batch(self, rows, inputs) -> np.ndarray:
        """int32 (batch, n), for the batch's input dict, which is masked in place."""
        keys = generator = None
        if not self._are_new:
            keys = rows
        elif self._pass is not None:
            generator = np.random.default_rng((*self._pass, *(np.asarray(rows) + 1)))
        masked, labels = self._preprocessor.mask(inputs, keys, generator)
        inputs.update(masked)
        return labels
