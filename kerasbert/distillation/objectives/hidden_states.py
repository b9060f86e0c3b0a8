"""Hidden states of the teacher as targets (Jiao et al., 2019, arXiv:1909.10351, section 3)."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.distillation import layer_maps
from kerasbert.distillation.objectives.objective import (
    Objective,
    applied_layers,
    token_weights,
    weighted_mean,
)


class HiddenStates(Objective):
    """Mean squared error between hidden states, summed over pairs of layers.

    `Σ over pairs of MSE(H_student W, H_teacher)` (equations 8 and 9), the mean taken over the real
    tokens of the batch and over the width. `W` is a trainable projection, made where the widths
    differ.

    Args:
        layer_map: dict or pairs from student to teacher layers: 0 are the embeddings, 1 the output
            of the first layer, -1 of the last. `None` pairs embeddings with embeddings and spaces
            the layers evenly.
        shared_projection: whether one projection serves all pairs, as in TinyBERT, or each has its
            own.
        weight: factor of the objective in the total loss.
        name: name of the objective's metric.

    Example:

    ```python
    from kerasbert.distillation.objectives import HiddenStates

    objective = HiddenStates(layer_map={0: 0, 1: 3, 2: 6})
    ```
    """

    traces = ("hidden_states",)
    default_name = "hidden_states"

    def __init__(self, layer_map=None, shared_projection=True, weight=1.0, name=None):
        super().__init__(weight, name)
        self.layer_map = layer_map
        self.shared_projection = shared_projection
        self._pairs: list[tuple[int, int]] = []

    def build(self, teacher, student):
        student_layers = applied_layers(student, "student")
        teacher_layers = applied_layers(teacher, "teacher")
        self._pairs = layer_maps.resolve(self.layer_map, student_layers, teacher_layers)
        student_width, teacher_width = (
            getattr(model, "backbone", model).config.hidden_dim for model in (student, teacher)
        )
        self.layers = []
        if student_width != teacher_width:
            count = 1 if self.shared_projection else len(self._pairs)
            self.layers = [
                keras.layers.Dense(teacher_width, dtype="float32", name=f"projection_{i}")
                for i in range(count)
            ]
            for layer in self.layers:
                layer.build((None, None, student_width))

    def compute_loss(self, teacher_outputs, student_outputs, padding_mask=None, sample_weight=None):
        weights = token_weights(padding_mask, sample_weight)
        loss = 0.0
        for pair, (student_layer, teacher_layer) in enumerate(self._pairs):
            state = ops.cast(student_outputs.traces["hidden_states"][student_layer], "float32")
            target = ops.cast(teacher_outputs.traces["hidden_states"][teacher_layer], "float32")
            error = ops.mean(ops.square(self._project(state, pair) - target), axis=-1)  # (B, T)
            loss = loss + weighted_mean(error, weights)
        return loss

    def _project(self, state, pair):
        if not self.layers:
            return state
        return self.layers[0 if self.shared_projection else pair](state)
