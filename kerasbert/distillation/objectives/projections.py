"""Trainable projections of a student's states to its teacher's width."""

from __future__ import annotations

import keras

from kerasbert.distillation.objectives.objective import config_of


def projections(teacher, student, count: int) -> list[keras.layers.Dense]:
    """`count` layers from the student's to the teacher's width; none where the widths are equal.

    They compute in float32, whatever the models' dtype.
    """
    widths = [
        config_of(model, role).hidden_dim
        for model, role in ((student, "student"), (teacher, "teacher"))
    ]
    if widths[0] == widths[1]:
        return []
    layers = [
        keras.layers.Dense(widths[1], dtype="float32", name=f"projection_{i}") for i in range(count)
    ]
    for layer in layers:
        layer.build((None, None, widths[0]))
    return layers
