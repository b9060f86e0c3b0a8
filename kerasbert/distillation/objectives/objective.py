"""What every distillation objective is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import keras
from keras import ops


@dataclasses.dataclass(frozen=True)
class Outputs:
    """What one model gave for a batch: its logits and what was traced on the way."""

    logits: object
    traces: Mapping[str, list]


class Objective(keras.distillation.DistillationLoss):
    """Base class of the objectives.

    It extends `keras.distillation.DistillationLoss`: outputs carry traces by layer index, the
    padding mask and the sample weights are known, and trainable projections may be owned.

    Args:
        weight: factor of the objective in the total loss.
        name: name of the objective's metric; `None` for the class's own.

    Attributes:
        traces: names of what must be traced in both models (`kerasbert.layers.TRACES`).
        layers: Keras layers with trainable weights that the objective owns, made by `build`.
    """

    traces: tuple[str, ...] = ()
    default_name = "objective"

    def __init__(self, weight: float = 1.0, name: str | None = None):
        if weight < 0:
            raise ValueError(f"`weight` must not be negative. Received: weight={weight}")
        self.weight = weight
        self.name = name or self.default_name
        self.layers: list[keras.layers.Layer] = []

    def build(self, teacher, student) -> None:
        """Check that the two models fit the objective, and make its projections.

        Raises:
            ValueError: if they do not.
        """

    def compute_loss(
        self,
        teacher_outputs: Outputs,
        student_outputs: Outputs,
        padding_mask=None,
        sample_weight=None,
    ):
        """The objective's value for a batch.

        Args:
            teacher_outputs: `Outputs` of the teacher, without gradient.
            student_outputs: `Outputs` of the student.
            padding_mask: (batch, length), 1 = real token.
            sample_weight: (batch,), or `None` for equal weights.

        Returns:
            A float32 scalar.
        """
        raise NotImplementedError("Subclasses of `Objective` define `compute_loss`.")


def weighted_mean(values, weights=None):
    """Mean of `values` under `weights` of the same shape (float32 scalar); 0 if all are zero."""
    if weights is None:
        return ops.mean(values)
    total = ops.sum(weights)
    return ops.sum(values * weights) / ops.where(total > 0, total, 1.0)


def token_weights(padding_mask, sample_weight=None):
    """Weights of tokens (batch, length) float32: padding has none, the rest the sample's."""
    weights = ops.cast(padding_mask, "float32")
    if sample_weight is None:
        return weights
    return weights * ops.expand_dims(ops.cast(sample_weight, "float32"), -1)


def applied_layers(model, role: str) -> int:
    """How many layers the encoder of a task applies.

    Raises:
        ValueError: if the model has no encoder whose layers could be traced.
    """
    from kerasbert.layers import block_order

    encoder = getattr(model, "backbone", model)
    if not hasattr(encoder, "config"):
        raise ValueError(
            f"The {role} has no kerasbert encoder, so its layers cannot be read. Use an objective "
            f"on outputs, such as `SoftTargets`. Received: {role} of type {type(model).__name__}"
        )
    return len(block_order(encoder.config))
