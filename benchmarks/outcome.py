"""What one fine-tuning run gives."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass
class Outcome:
    """What one fine-tuning run gives.

    Args:
        predictions: as the job's `score` takes them.
        epoch_seconds: of each epoch, evaluation left out.
        steps_per_epoch: optimizer steps.
        trained_parameters: that the optimizer changes.
        saved_bytes: of the smallest file that holds what was learnt.
    """

    predictions: Any
    epoch_seconds: list[float]
    steps_per_epoch: int
    trained_parameters: int
    saved_bytes: int

    @property
    def seconds_per_step(self) -> float:
        """Of the last epoch: by then every shape is compiled."""
        return self.epoch_seconds[-1] / self.steps_per_epoch
