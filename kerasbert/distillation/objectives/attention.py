"""What the teacher's layers attend to as targets."""

from __future__ import annotations

from collections.abc import Sequence

from keras import ops

from kerasbert.distillation import layer_maps
from kerasbert.distillation.objectives.objective import (
    Objective,
    applied_layers,
    config_of,
    weighted_mean,
)


class AttentionObjective(Objective):
    """Base class of objectives that compare what heads attend to.

    Args:
        layer_map: dict or pairs from student to teacher layers, from 1 for the first; -1 is the
            last. `None`: see the class.
        heads: `None` (default): head by head where both have as many, else the means over heads;
            `"mean"` for the means always; or ints, the teacher's head for each of the student's.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.
    """

    reads_tokens = True

    def __init__(
        self,
        layer_map=None,
        heads: Sequence[int] | str | None = None,
        weight: float = 1.0,
        name: str | None = None,
    ):
        super().__init__(weight, name)
        if isinstance(heads, str) and heads != "mean":
            raise ValueError(
                f'`heads` must be None, "mean" or the teacher\'s heads. Received: heads={heads!r}'
            )
        self.layer_map = layer_map
        self.heads = heads
        self._pairs: list[tuple[int, int]] = []
        self._heads = heads

    def build(self, teacher, student):
        depths = applied_layers(student, "student"), applied_layers(teacher, "teacher")
        self._pairs = layer_maps.resolve(self.layer_map, *depths, first=1)
        theirs, ours = (
            config_of(model, role).num_heads
            for model, role in ((teacher, "teacher"), (student, "student"))
        )
        self._heads = self.heads
        if self.heads is None:
            self._heads = None if ours == theirs else "mean"
        elif self.heads != "mean":
            _check_heads(self.heads, ours, theirs)

    def teacher_reads(self):
        return {self.traces[0]: {teacher_layer - 1 for _, teacher_layer in self._pairs}}

    def compute_loss(self, teacher_outputs, student_outputs, batch):
        (name,) = self.traces
        loss = 0.0
        for student_layer, teacher_layer in self._pairs:
            loss = loss + self.compare(
                self._of_student(student_outputs.traces[name][student_layer - 1]),
                self._of_teacher(teacher_outputs.traces[name][teacher_layer - 1]),
                batch,
            )
        return loss

    def _of_student(self, values):
        values = ops.cast(values, "float32")
        return ops.mean(values, axis=1, keepdims=True) if self._heads == "mean" else values

    def _of_teacher(self, values):
        values = ops.cast(values, "float32")
        if self._heads == "mean":
            return ops.mean(values, axis=1, keepdims=True)
        return values if self._heads is None else ops.take(values, self._heads, axis=1)

    def compare(self, values, target, batch):
        """The value of one pair of layers, (batch, heads, length, length), both float32."""
        raise NotImplementedError("Subclasses of `AttentionObjective` define `compare`.")


class AttentionScores(AttentionObjective):
    """Mean squared error between attention scores before the softmax, summed over pairs of layers.

    TinyBERT (Jiao et al., 2019, arXiv:1909.10351, equation 7): the mean over heads and over pairs
    of real tokens; padding does not count.

    Args:
        layer_map: as in `HiddenStates`, from 1; `None` spaces the layers evenly.
        heads: `None` (default): head by head where both have as many, else the means over heads;
            `"mean"` for the means always; or ints, the teacher's head for each of the student's.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.

    Raises:
        ValueError: for senseless heads; in a `Distiller`, if a model has no such head or layer.

    Example:

    ```python
    from kerasbert.distillation.objectives import AttentionScores

    objective = AttentionScores(layer_map={1: 3, 2: 6})
    ```
    """

    traces = ("attention_scores",)
    default_name = "attention_scores"

    def compare(self, values, target, batch):
        weights = batch.pair_weights()
        # The mean over heads first: a value for each pair of tokens, as the weights are.
        error = ops.mean(ops.square(values - target), axis=1)
        return weighted_mean(error, weights)


class AttentionWeights(AttentionObjective):
    """KL divergence from the teacher's to the student's attention, summed over pairs of layers.

    The attention transfer of MiniLM (Wang et al., 2020, arXiv:2002.10957, equation 3), there for
    the last layer, and of MobileBERT (Sun et al., 2020, arXiv:2004.02984, equation 4), there for
    each; the mean over heads and over the real tokens that attend.

    Args:
        layer_map: as in `HiddenStates`, from 1; `None` is the last layer with the last.
        heads: as in `AttentionScores`.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.

    Raises:
        ValueError: for senseless heads; in a `Distiller`, if a model has no such head or layer.

    Example:

    ```python
    from kerasbert.distillation.objectives import AttentionWeights

    objective = AttentionWeights()
    ```
    """

    traces = ("attention_weights",)
    default_name = "attention_weights"

    def __init__(self, layer_map=None, heads=None, weight=1.0, name=None):
        super().__init__({-1: -1} if layer_map is None else layer_map, heads, weight, name)

    def compare(self, values, target, batch):
        return mean_divergence(log_of(target), log_of(values), batch)


def log_of(probabilities, least: float = 1e-20):
    """The logarithm, finite at zero."""
    return ops.log(ops.maximum(probabilities, least))


def mean_divergence(log_p, log_q, batch):
    """KL(p, q) over the last axis of (batch, heads, length, length), the mean over real tokens."""
    divergence = ops.sum(ops.exp(log_p) * (log_p - log_q), axis=-1)
    return weighted_mean(ops.mean(divergence, axis=1), batch.token_weights())


def _check_heads(heads, ours: int, theirs: int) -> None:
    if len(heads) != ours or not all(0 <= head < theirs for head in heads):
        raise ValueError(
            f"`heads` names one of the teacher's {theirs} heads for each of the student's {ours}. "
            f"Received: heads={list(heads)}"
        )
