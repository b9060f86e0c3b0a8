"""The teacher's softened predictions as targets (Hinton et al., 2015, arXiv:1503.02531)."""

from __future__ import annotations

from keras import ops

from kerasbert.distillation.objectives.objective import Objective, weighted_mean


class SoftTargets(Objective):
    """KL divergence from the teacher's to the student's distribution at a temperature.

    For classes: `T² · Σ p (log p - log q)` with `p` and `q` the softmax of the logits divided by
    the temperature T; the factor T² keeps gradients of the same size for all T (section 2.1). For
    `multi_label` the same of each label's two outcomes, averaged over labels. For regression the
    squared difference of the outputs, without temperature. The value is the mean over examples,
    weighted by `sample_weight`.

    Args:
        temperature: T, above 0.
        scale: whether to multiply by T².
        weight: factor of the objective in the total loss.
        name: name of the objective's metric.

    Example:

    ```python
    from kerasbert.distillation.objectives import SoftTargets

    objective = SoftTargets(temperature=2.0)
    ```
    """

    default_name = "soft_targets"

    def __init__(self, temperature=2.0, scale=True, weight=1.0, name=None):
        super().__init__(weight, name)
        if not temperature > 0:
            raise ValueError(f"`temperature` must be above 0. Received: temperature={temperature}")
        self.temperature = temperature
        self.scale = scale
        self._divergence = self._classes

    def build(self, teacher, student):
        classes = student.classes
        if classes.is_regression:
            self._divergence = self._values
        elif classes.multi_label:
            self._divergence = self._labels
        theirs = getattr(teacher, "classes", None)
        if theirs is None:
            return
        if theirs.num_classes != classes.num_classes or theirs.multi_label != classes.multi_label:
            raise ValueError(
                "Teacher and student must predict the same classes. Received: teacher with "
                f"num_classes={theirs.num_classes}, multi_label={theirs.multi_label}; student with "
                f"num_classes={classes.num_classes}, multi_label={classes.multi_label}"
            )
        if theirs.names and classes.names and theirs.names != classes.names:
            raise ValueError(
                "Teacher and student must have the same labels in the same order. Build the "
                f"student with `labels={list(theirs.names)[:6]}` ... Received: "
                f"{list(classes.names)[:6]} ..."
            )

    def compute_loss(self, teacher_outputs, student_outputs, padding_mask=None, sample_weight=None):
        per_example = self._divergence(
            ops.cast(teacher_outputs.logits, "float32"), ops.cast(student_outputs.logits, "float32")
        )
        return weighted_mean(per_example, sample_weight)

    def _classes(self, teacher, student):
        log_p = ops.log_softmax(teacher / self.temperature, axis=-1)
        log_q = ops.log_softmax(student / self.temperature, axis=-1)
        return ops.sum(ops.exp(log_p) * (log_p - log_q), axis=-1) * self._factor

    def _labels(self, teacher, student):
        teacher, student = teacher / self.temperature, student / self.temperature
        p = ops.sigmoid(teacher)
        log_ratio = ops.log_sigmoid(teacher) - ops.log_sigmoid(student)
        log_ratio_of_not = ops.log_sigmoid(-teacher) - ops.log_sigmoid(-student)
        return ops.mean(p * log_ratio + (1 - p) * log_ratio_of_not, axis=-1) * self._factor

    def _values(self, teacher, student):
        return ops.mean(ops.square(teacher - student), axis=-1)

    @property
    def _factor(self):
        return self.temperature**2 if self.scale else 1.0
