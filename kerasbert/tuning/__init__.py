"""Fine-tuning: optimizers and learning-rate schedules."""

from kerasbert.tuning.optimizers import AdamW, optimizer
from kerasbert.tuning.schedules import WarmupLinearDecay

__all__ = ["AdamW", "WarmupLinearDecay", "optimizer"]
