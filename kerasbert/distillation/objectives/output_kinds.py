"""What the outputs of each task are distributions over, and which of them count."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from keras import ops

from kerasbert.distillation.objectives.objective import Batch
from kerasbert.models import (
    MaskedLM,
    MultipleChoice,
    QuestionAnswerer,
    TextClassifier,
    TextEmbedder,
    TokenClassifier,
)

POSITIONS = ("masked", "all")


def _of_examples(batch: Batch, values):
    return batch.weighted(ops.ones_like(values))


@dataclasses.dataclass(frozen=True)
class Kind:
    """How the logits of a task are compared.

    Args:
        log_outcomes: from logits to log probabilities, the outcomes on the last axis.
        reduce: from what each distribution gives to what is weighted.
        weights: from the batch and these values to their weights.
        is_distribution: whether the outputs are logits at all, not plain numbers.
        is_of_tokens: whether they belong to tokens, not to whole examples.
    """

    log_outcomes: Callable = ops.log_softmax
    reduce: Callable = lambda values: values
    weights: Callable = _of_examples
    is_distribution: bool = True
    is_of_tokens: bool = False


def _two_outcomes(logits):
    return ops.stack([ops.log_sigmoid(logits), ops.log_sigmoid(-logits)], axis=-1)


def _over_tokens(logits):
    """(batch, length, 2) to (batch, 2, length)."""
    return ops.log_softmax(ops.swapaxes(logits, 1, 2), axis=-1)


def _mean_of_last_axis(values):
    return ops.mean(values, axis=-1)


CLASSES = Kind()
NUMBERS = Kind(is_distribution=False)
LABELS = Kind(_two_outcomes, _mean_of_last_axis)
SPANS = Kind(_over_tokens, _mean_of_last_axis, is_of_tokens=True)
TOKENS = Kind(weights=lambda batch, values: batch.token_weights(), is_of_tokens=True)
MASKED_TOKENS = Kind(weights=lambda batch, values: batch.labelled_weights(), is_of_tokens=True)


def kind_of(task, positions: str) -> Kind:
    """How the outputs of a task are compared.

    Args:
        task: a kerasbert task.
        positions: `"masked"` or `"all"`, of a `MaskedLM`.

    Raises:
        ValueError: for a task whose outputs are no predictions.
    """
    if isinstance(task, TextEmbedder):
        raise ValueError(
            "Embeddings are no logits. Use `Embeddings()` in place of `SoftTargets()`."
        )
    if isinstance(task, TextClassifier):
        if task.classes.is_regression:
            return NUMBERS
        return LABELS if task.classes.multi_label else CLASSES
    if isinstance(task, MaskedLM):
        return TOKENS if positions == "all" else MASKED_TOKENS
    kinds = {TokenClassifier: TOKENS, QuestionAnswerer: SPANS, MultipleChoice: CLASSES}
    for cls, kind in kinds.items():
        if isinstance(task, cls):
            return kind
    raise ValueError(
        f"The student's outputs are not known. Received: student of type {type(task).__name__}"
    )


def check_same_outputs(teacher, student) -> None:
    """Raises a `ValueError` unless both predict the same classes in the same order."""
    ours, theirs = (getattr(model, "classes", None) for model in (student, teacher))
    if ours is None or theirs is None:
        return
    if theirs.num_classes != ours.num_classes or theirs.multi_label != ours.multi_label:
        raise ValueError(
            "Teacher and student must predict the same classes. Received: teacher with "
            f"num_classes={theirs.num_classes}, multi_label={theirs.multi_label}; student with "
            f"num_classes={ours.num_classes}, multi_label={ours.multi_label}"
        )
    if theirs.names and ours.names and theirs.names != ours.names:
        raise ValueError(
            "Teacher and student must have the same labels in the same order. Build the "
            f"student with `labels={list(theirs.names)[:6]}` ... Received: "
            f"{list(ours.names)[:6]} ..."
        )
