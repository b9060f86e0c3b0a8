"""The teacher's softened predictions as targets (Hinton et al., 2015, arXiv:1503.02531)."""

from __future__ import annotations

from keras import ops

from kerasbert.distillation.objectives import output_kinds
from kerasbert.distillation.objectives.objective import (
    Objective,
    at_step,
    checked_schedule,
    weighted_mean,
)

LOSSES = ("kl", "cross_entropy")


class SoftTargets(Objective):
    """KL divergence from the teacher's to the student's distribution at a temperature.

    `T² · Σ p (log p - log q)` with `p` and `q` the softmax of the logits divided by the temperature
    T; the factor T² keeps gradients of the same size for all T (section 2.1). The distributions are

    - over the classes of each text, and over the choices of each example;
    - over the tags of each real token;
    - over the real tokens, for the start and for the end of an answer, averaged;
    - over the vocabulary at each masked token, or with `positions="all"` at each real one;
    - with `multi_label`, over each label's two outcomes, averaged over labels.

    For regression it is the squared difference of the outputs, without temperature. The value is
    the mean over examples (tokens), weighted by `sample_weight`.

    Args:
        temperature: T, above 0; or a `keras.optimizers.schedules.LearningRateSchedule` of steps.
        scale: bool, default `True`: whether to multiply by T².
        loss: `"kl"` (default), or `"cross_entropy"`: `-Σ p log q`, which differs by the teacher's
            entropy and has the same gradient (TinyBERT).
        positions: `"masked"` (default) or `"all"`: the tokens that count in a `MaskedLM`.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.

    Raises:
        ValueError: for an argument that is not as said; in a `Distiller`, if the models do not
            predict the same.

    Example:

    ```python
    from kerasbert.distillation.objectives import SoftTargets

    objective = SoftTargets(temperature=2.0)
    ```
    """

    default_name = "soft_targets"

    def __init__(
        self, temperature=2.0, scale=True, loss="kl", positions="masked", weight=1.0, name=None
    ):
        super().__init__(weight, name)
        self.temperature = checked_schedule("temperature", temperature, least=0, is_open=True)
        self.scale = scale
        for argument, value, choices in (
            ("loss", loss, LOSSES),
            ("positions", positions, output_kinds.POSITIONS),
        ):
            if value not in choices:
                raise ValueError(f"`{argument}` must be one of {choices}. Received: {value!r}")
        self.loss = loss
        self.positions = positions
        self.reads_all_tokens = positions == "all"
        self._kind = output_kinds.CLASSES

    def build(self, teacher, student):
        self._kind = output_kinds.kind_of(student, self.positions)
        self.reads_tokens = self._kind.is_of_tokens
        output_kinds.check_same_outputs(teacher, student)

    def compute_loss(self, teacher_outputs, student_outputs, batch):
        teacher, student = (
            ops.cast(outputs.logits, "float32") for outputs in (teacher_outputs, student_outputs)
        )
        kind = self._kind
        if not kind.is_distribution:
            values = ops.mean(ops.square(teacher - student), axis=-1)
            return weighted_mean(values, kind.weights(batch, values))
        temperature = at_step(self.temperature, batch.step)
        outcomes = kind.log_outcomes
        values = self._divergence(outcomes(teacher / temperature), outcomes(student / temperature))
        values = kind.reduce(values)
        factor = temperature**2 if self.scale else 1.0
        return weighted_mean(values, kind.weights(batch, values)) * factor

    def _divergence(self, log_p, log_q):
        """Over the last axis."""
        difference = -log_q if self.loss == "cross_entropy" else log_p - log_q
        return ops.sum(ops.exp(log_p) * difference, axis=-1)
