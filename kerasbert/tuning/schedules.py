"""Learning-rate schedules whose length is known only when training starts."""

from __future__ import annotations

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerasbert")
class WarmupLinearDecay(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to a peak, then linear decay to zero (Devlin et al., 2018, appendix A.2).

    Args:
        peak: the highest learning rate.
        warmup: share of the steps that warm up, in [0, 1).
        total_steps: steps in all, as the optimizer counts them; `None` to have `fit` fill in the
            number of its own steps, anew for each `fit`.
        first_step: the optimizer's step at which the schedule begins.

    Example:

    ```python
    from kerasbert.tuning import WarmupLinearDecay

    schedule = WarmupLinearDecay(1e-3, warmup=0.1, total_steps=100)
    assert float(schedule(10)) == 1e-3
    assert float(schedule(100)) == 0
    ```
    """

    def __init__(
        self, peak: float, warmup: float = 0.1, total_steps: int | None = None, first_step: int = 0
    ):
        if not 0 <= warmup < 1:
            raise ValueError(f"`warmup` must be a share in [0, 1). Received: warmup={warmup}")
        if total_steps is not None and total_steps < 1:
            raise ValueError(f"`total_steps` must be positive. Received: total_steps={total_steps}")
        self.peak = peak
        self.warmup = warmup
        self.total_steps = total_steps
        self.first_step = first_step
        self._start, self._planned_steps = first_step, total_steps

    def plan(self, first_step: int, steps: int) -> bool:
        """Let the schedule span `steps` steps from `first_step` on, unless its length was given.

        Returns:
            Whether anything changed: functions compiled with the schedule are then out of date.
        """
        if self.total_steps is not None:
            return False
        before = (self._start, self._planned_steps)
        self._start, self._planned_steps = first_step, max(steps, 1)
        return before != (self._start, self._planned_steps)

    def __call__(self, step):
        if self._planned_steps is None:
            return ops.convert_to_tensor(self.peak, "float32")
        step = ops.cast(step, "float32") - self._start
        warmup_steps = self.warmup * self._planned_steps
        factor = (self._planned_steps - step) / max(self._planned_steps - warmup_steps, 1)
        if warmup_steps >= 1:  # in less than a step nothing can rise; a run of one step would rest
            factor = ops.minimum(step / warmup_steps, factor)
        return self.peak * ops.clip(factor, 0, 1)

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup": self.warmup,
            "total_steps": self.total_steps,
            "first_step": self.first_step,
        }
