"""How much each of several teachers counts."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from keras import ops

from kerasbert.distillation.objectives.objective import Batch, Outputs

CONFIDENCE = "confidence"


def checked_weights(weights, count: int) -> tuple[float, ...] | str:
    """The weights of `count` teachers, which add up to 1, or `"confidence"`.

    Args:
        weights: `None` for equal ones, a number for each teacher, or `"confidence"`.
        count: of teachers.

    Raises:
        ValueError: if they are not as said.
    """
    if isinstance(weights, str) and weights == CONFIDENCE:
        return CONFIDENCE
    weights = [1.0] * count if weights is None else weights
    is_list = isinstance(weights, Sequence) and not isinstance(weights, str)
    if not is_list or len(weights) != count or min(weights) < 0 or not sum(weights) > 0:
        raise ValueError(
            '`teacher_weights` must be "confidence" or a number >= 0 for each of the '
            f"{count} teachers. Received: teacher_weights={weights!r}"
        )
    return tuple(weight / sum(weights) for weight in weights)


def shares(
    weights: tuple[float, ...] | str, outputs: Sequence[Outputs], batch: Batch
) -> list[tuple[float, Batch]]:
    """For each teacher, a factor of its objectives' values and the batch that it teaches.

    With `"confidence"`, what a teacher gives for an example counts in proportion to the
    probability of the class that it holds for the most likely one: examples are weighted so in the
    batch, and the factor is the teacher's share of all weight.

    Args:
        weights: of `checked_weights`.
        outputs: the teachers'.
        batch: the batch.
    """
    if weights != CONFIDENCE:
        return [(weight, batch) for weight in weights]
    confidences = [
        ops.max(ops.softmax(ops.cast(each.logits, "float32"), axis=-1), axis=-1) for each in outputs
    ]
    total = sum(confidences)
    of_examples = batch.weighted(ops.ones_like(total))
    everything = ops.sum(of_examples)
    everything = ops.where(everything > 0, everything, 1.0)
    found = []
    for confidence in confidences:
        of_teacher = of_examples * confidence / total
        part = dataclasses.replace(batch, sample_weight=of_teacher)
        found.append((ops.sum(of_teacher) / everything, part))
    return found
