"""The place of soft prompts in an encoder."""

from __future__ import annotations

import keras


class PromptSlot(keras.Operation):
    """Where soft prompts join the embeddings, and where they leave the states after the last block.

    Nothing happens there while `prompts` is `None`. `kerasbert.tuning.prompts` puts a layer there,
    whose `length` L says how many states it puts before those of the tokens. It is no layer itself:
    to call one that does nothing takes torch some Python.
    """

    def __init__(self):
        super().__init__()
        self.prompts = None

    @property
    def length(self) -> int:
        """How many prompts there are."""
        return 0 if self.prompts is None else self.prompts.length

    def call(self, x, padding_mask=None):
        """Join, where a padding mask is given, or leave.

        Args:
            x: states (B, T, D) to join, (B, L + T, D) to leave.
            padding_mask: (B, T), or `None`.

        Returns:
            States (B, L + T, D) and a padding mask (B, L + T); or states (B, T, D).
        """
        if padding_mask is None:
            return x if self.prompts is None else x[:, self.length :]
        return (x, padding_mask) if self.prompts is None else self.prompts(x, padding_mask)

    def compute_output_spec(self, x, padding_mask=None):
        if padding_mask is None:
            return _lengthened(x, -self.length)
        return _lengthened(x, self.length), _lengthened(padding_mask, self.length)


def _lengthened(x, more):
    batch, length, *rest = x.shape
    length = None if length is None else length + more
    return keras.KerasTensor((batch, length, *rest), dtype=x.dtype)
