"""The losses of tasks whose output has an axis of tokens."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.metrics.labelled import IGNORED_LABEL


@keras.saving.register_keras_serializable(package="kerasbert")
class TokenCrossEntropy(keras.losses.Loss):
    """Mean cross entropy of the labelled tokens: logits (B, T, classes), labels int (B, T).

    Tokens of the label -100 do not count. Sample weights (B,) or (B, T) are relative: the mean is
    weighted by them. (Keras's `ignore_class` cannot be combined with weights of rows.)
    """

    def __init__(self, name="token_cross_entropy", **kwargs):
        super().__init__(name=name, **kwargs)

    def __call__(self, y_true, y_pred, sample_weight=None):
        labels = ops.cast(y_true, "int32")
        is_labelled = ops.not_equal(labels, IGNORED_LABEL)
        losses = keras.losses.sparse_categorical_crossentropy(
            ops.where(is_labelled, labels, 0), y_pred, from_logits=True
        )
        weights = ops.cast(is_labelled, losses.dtype)
        if sample_weight is not None:
            given = ops.cast(sample_weight, losses.dtype)
            weights = weights * (ops.expand_dims(given, 1) if len(given.shape) == 1 else given)
        return ops.sum(losses * weights) / ops.maximum(ops.sum(weights), keras.config.epsilon())


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
