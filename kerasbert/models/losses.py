"""The losses of tasks whose output has an axis of tokens."""

from __future__ import annotations

import keras
from keras import ops

# Hugging Face's mark of a token without a label.
IGNORED_LABEL = -100


def token_loss() -> keras.losses.Loss:
    """Cross entropy of logits (B, T, classes) with labels (B, T); -100 marks tokens without one."""
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=IGNORED_LABEL)


@keras.saving.register_keras_serializable(package="kerasbert")
def answer_span_loss(positions, logits):
    """Mean cross entropy of an answer's first and last token (Devlin et al., 2018, section 4.2).

    Args:
        positions: int (B, 2).
        logits: (B, T, 2).

    Returns:
        (B,) float.
    """
    losses = keras.losses.sparse_categorical_crossentropy(
        positions, ops.transpose(logits, (0, 2, 1)), from_logits=True
    )
    return ops.mean(losses, axis=-1)
