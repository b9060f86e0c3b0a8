"""Embeddings of texts as targets, for `TextEmbedder`s."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.distillation.objectives.hidden_states import normalized
from kerasbert.distillation.objectives.objective import Objective, weighted_mean

LOSSES = ("mse", "cosine", "similarities")


class Embeddings(Objective):
    """The teacher's embeddings of the same texts.

    Args:
        loss: `"mse"` (default): the mean squared error of the embeddings (Reimers & Gurevych, 2020,
            arXiv:2004.09813, equation 1); `"cosine"`: one minus their cosine; `"similarities"`: the
            mean squared error of the cosines of each text with each other text of the batch, which
            needs no common width.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.

    Where the widths differ, `"mse"` and `"cosine"` train a projection from the student's to the
    teacher's, which is not part of the student.

    Raises:
        ValueError: for another `loss`.

    Example:

    ```python
    from kerasbert.distillation.objectives import Embeddings

    objective = Embeddings("similarities")
    ```
    """

    default_name = "embeddings"

    def __init__(self, loss: str = "mse", weight: float = 1.0, name: str | None = None):
        super().__init__(weight, name)
        if loss not in LOSSES:
            raise ValueError(f"`loss` must be one of {LOSSES}. Received: loss={loss!r}")
        self.loss = loss

    def build(self, teacher, student):
        widths = [model.output_shape[-1] for model in (student, teacher)]
        self.layers = []
        if widths[0] != widths[1] and self.loss != "similarities":
            self.layers = [keras.layers.Dense(widths[1], dtype="float32", name="projection")]
            self.layers[0].build((None, widths[0]))

    def compute_loss(self, teacher_outputs, student_outputs, batch):
        target, found = (
            ops.cast(outputs.logits, "float32") for outputs in (teacher_outputs, student_outputs)
        )
        for layer in self.layers:
            found = layer(found)
        if self.loss == "mse":
            errors = ops.mean(ops.square(found - target), axis=-1)
        elif self.loss == "cosine":
            errors = 1 - ops.sum(normalized(found) * normalized(target), axis=-1)
        else:
            return self._error_of_similarities(target, found, batch)
        return weighted_mean(errors, batch.weighted(ops.ones_like(errors)))

    def _error_of_similarities(self, target, found, batch):
        ours, theirs = (
            ops.matmul(x, ops.transpose(x)) for x in (normalized(found), normalized(target))
        )
        weights = batch.weighted(ops.ones_like(ours[:, 0]))
        errors = ops.matmul(ops.matmul(weights, ops.square(ours - theirs)), weights)
        # Each text's cosine with itself is 1 on both sides: it adds no error, and must not count.
        total = ops.square(ops.sum(weights)) - ops.sum(ops.square(weights))
        return errors / ops.where(total > 0, total, 1.0)
