"""From logits to probabilities, for what people read."""

from __future__ import annotations

import numpy as np


def log_probabilities(logits: np.ndarray) -> np.ndarray:
    """The logarithm of the softmax over the last axis, in float64."""
    shifted = logits.astype("float64") - logits.max(axis=-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
