"""What every distillation objective is."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import keras
from keras import ops

from kerasbert.layers import block_order
from kerasbert.metrics.labelled import IGNORED_LABEL


@dataclasses.dataclass(frozen=True)
class Outputs:
    """What one model gave for a batch: its logits and what was traced on the way."""

    logits: Any
    traces: Mapping[str, list] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Batch:
    """What objectives know of a batch beside the two models' outputs.

    Args:
        inputs: the student's input dict; `padding_mask` (batch, length) has 1 for real tokens.
        targets: what the label loss compares with, or `None`.
        sample_weight: (batch,), or `None` for equal weights.
        step: optimizer steps before this one: an int or an integer tensor.
    """

    inputs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    targets: Any = None
    sample_weight: Any = None
    step: Any = 0

    def token_weights(self):
        """Weights of tokens (rows, length) float32: padding has none, the rest the sample's.

        A row is an example, or one of its choices.
        """
        return _as_rows(self.weighted(ops.cast(self.inputs["padding_mask"], "float32")))

    def pair_weights(self):
        """Weights of pairs of real tokens (rows, length, length) float32."""
        is_real = 1 - self.is_padding()
        return ops.expand_dims(self.token_weights(), -1) * ops.expand_dims(is_real, -2)

    def is_padding(self):
        """1 for padding, 0 for real tokens: (rows, length) float32."""
        return 1 - _as_rows(ops.cast(self.inputs["padding_mask"], "float32"))

    def labelled_weights(self):
        """Weights of the targets that are not ignored: (batch, n) float32."""
        return self.weighted(ops.cast(ops.not_equal(self.targets, IGNORED_LABEL), "float32"))

    def weighted(self, weights):
        """`weights` (batch, ...) float32 times those of the examples."""
        if self.sample_weight is None:
            return weights
        of_examples = ops.cast(self.sample_weight, "float32")
        return weights * ops.reshape(of_examples, (-1,) + (1,) * (len(weights.shape) - 1))


def _as_rows(values):
    """(batch, length) or (batch, choices, length) to (rows, length)."""
    return ops.reshape(values, (-1, ops.shape(values)[-1]))


class Objective(keras.distillation.DistillationLoss):
    """Base class of the objectives.

    It extends `keras.distillation.DistillationLoss`: outputs carry traces by layer index, the
    padding mask, the targets and the sample weights are known, and trainable projections may be
    owned. A value is the same however much padding a batch carries.

    Args:
        weight: factor of the objective in the total loss: a float, or a
            `keras.optimizers.schedules.LearningRateSchedule` of the optimizer's steps.
        name: name of the objective's metric; `None` for the class's own.

    Attributes:
        traces: names of what must be traced in both models (`kerasbert.layers.TRACES`).
        layers: Keras layers with trainable weights that the objective owns, made by `build`.
        reads_all_tokens: whether a `MaskedLM`'s logits are wanted at all tokens, not at the masked
            ones alone.
        reads_tokens: whether the teacher's tokens must be the student's.
    """

    traces: tuple[str, ...] = ()
    reads_all_tokens = False
    reads_tokens = False
    default_name = "objective"

    def __init__(self, weight: float = 1.0, name: str | None = None):
        self.weight = checked_schedule("weight", weight, least=0)
        self.name = name or self.default_name
        self.layers: list[keras.layers.Layer] = []

    def build(self, teacher, student) -> None:
        """Check that the two models fit the objective, and make its projections.

        Raises:
            ValueError: if they do not.
        """

    def teacher_reads(self) -> dict[str, set[int]]:
        """By name of a trace, the indices in it that are read of the teacher."""
        return {}

    def compute_loss(self, teacher_outputs: Outputs, student_outputs: Outputs, batch: Batch):
        """The objective's value for a batch, without its weight.

        Args:
            teacher_outputs: `Outputs` of the teacher, without gradient.
            student_outputs: `Outputs` of the student.
            batch: `Batch`.

        Returns:
            A float32 scalar.
        """
        raise NotImplementedError("Subclasses of `Objective` define `compute_loss`.")


def checked_schedule(name: str, value, least: float, is_open: bool = False):
    """`value`, a number of at least `least` (above it if `is_open`) or a schedule.

    Raises:
        ValueError: if it is neither.
    """
    if isinstance(value, keras.optimizers.schedules.LearningRateSchedule):
        return value
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not (value > least or (value == least and not is_open)):
        raise ValueError(
            f"`{name}` must be {'above' if is_open else 'at least'} {least}, or a schedule. "
            f"Received: {name}={value!r}"
        )
    return value


def at_step(value, step):
    """What a number or a schedule is at a step."""
    if isinstance(value, keras.optimizers.schedules.LearningRateSchedule):
        return ops.cast(value(step), "float32")
    return value


def weighted_mean(values, weights=None):
    """Mean of `values` under `weights` of the same shape (float32 scalar); 0 if all are zero."""
    if weights is None:
        return ops.mean(values)
    total = ops.sum(weights)
    return ops.sum(values * weights) / ops.where(total > 0, total, 1.0)


def config_of(model, role: str):
    """The configuration of a model's encoder.

    Raises:
        ValueError: if the model has no encoder whose layers could be traced.
    """
    encoder = getattr(model, "backbone", model)
    if not hasattr(encoder, "config"):
        raise ValueError(
            f"The {role} has no kerasbert encoder, so its layers cannot be read. Use an objective "
            f"on outputs, such as `SoftTargets`. Received: {role} of type {type(model).__name__}"
        )
    return encoder.config


def applied_layers(model, role: str) -> int:
    """How many layers the encoder of a task applies.

    Raises:
        ValueError: if the model has no encoder whose layers could be traced.
    """
    return len(block_order(config_of(model, role)))
