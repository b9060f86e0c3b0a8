"""Learning-rate schedules whose length is known only when training starts."""

from __future__ import annotations

import math

import keras
from keras import ops


class WarmupSchedule(keras.optimizers.schedules.LearningRateSchedule):
    """Linear warm-up to a peak, then what a subclass makes of the rest.

    Args:
        peak: float, the highest learning rate.
        warmup: float in [0, 1), default 0.1: share of the steps that warm up.
        total_steps: int, steps in all, as the optimizer counts them; `None` (default) to have `fit`
            fill in the number of its own steps, anew for each `fit`.
        first_step: int, default 0: the optimizer's step at which the schedule begins.
        cycles: int, default 1: how many times warm-up and decay run, one after the other, each over
            an equal share of the steps ("restarts"; Loshchilov & Hutter, 2017, arXiv:1608.03983).

    Raises:
        ValueError: for values that make no sense.
    """

    def __init__(
        self,
        peak: float,
        warmup: float = 0.1,
        total_steps: int | None = None,
        first_step: int = 0,
        cycles: int = 1,
    ):
        if not 0 <= warmup < 1:
            raise ValueError(f"`warmup` must be a share in [0, 1). Received: warmup={warmup}")
        if total_steps is not None and total_steps < 1:
            raise ValueError(f"`total_steps` must be positive. Received: total_steps={total_steps}")
        if not isinstance(cycles, int) or cycles < 1:
            raise ValueError(f"`cycles` must be an integer >= 1. Received: cycles={cycles!r}")
        self.peak = peak
        self.warmup = warmup
        self.total_steps = total_steps
        self.first_step = first_step
        self.cycles = cycles
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
        steps = self._planned_steps / self.cycles
        if self.cycles > 1:
            step = step - steps * ops.clip(ops.floor(step / steps), 0, self.cycles - 1)
        warmup_steps = self.warmup * steps
        factor = self.decay(ops.clip((step - warmup_steps) / max(steps - warmup_steps, 1), 0, 1))
        if warmup_steps >= 1:  # in less than a step nothing can rise; a run of one step would rest
            factor = ops.minimum(ops.maximum(step / warmup_steps, 0), factor)
        return self.peak * factor

    def decay(self, share):
        """The rate after warm-up as a share of the peak.

        Args:
            share: float32 scalar from 0, the end of the warm-up, to 1, the end of the cycle.

        Returns:
            Float32 scalar, 1 at 0.
        """
        raise NotImplementedError

    def get_config(self):
        return {
            "peak": self.peak,
            "warmup": self.warmup,
            "total_steps": self.total_steps,
            "first_step": self.first_step,
            "cycles": self.cycles,
        }


@keras.saving.register_keras_serializable(package="kerasbert")
class WarmupLinearDecay(WarmupSchedule):
    """Linear warm-up to a peak, then linear decay to zero (Devlin et al., 2018, appendix A.2).

    Arguments are those of `WarmupSchedule`.

    Example:

    ```python
    from kerasbert.tuning import WarmupLinearDecay

    schedule = WarmupLinearDecay(1e-3, warmup=0.1, total_steps=100)
    assert abs(float(schedule(10)) - 1e-3) < 1e-9
    assert float(schedule(100)) == 0
    ```
    """

    def decay(self, share):
        return 1 - share


@keras.saving.register_keras_serializable(package="kerasbert")
class WarmupCosineDecay(WarmupSchedule):
    """Linear warm-up to a peak, then half a cosine down to zero (Loshchilov & Hutter, 2017).

    Arguments are those of `WarmupSchedule`.
    """

    def decay(self, share):
        return (1 + ops.cos(math.pi * share)) / 2


@keras.saving.register_keras_serializable(package="kerasbert")
class WarmupConstant(WarmupSchedule):
    """Linear warm-up to a rate that then stays. Arguments are those of `WarmupSchedule`."""

    def decay(self, share):
        return ops.ones_like(share)


SCHEDULES = {"linear": WarmupLinearDecay, "cosine": WarmupCosineDecay, "constant": WarmupConstant}
