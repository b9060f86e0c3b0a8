"""Fine-tuning: optimizers and schedules, parameter-efficient methods, words of a domain."""

from kerasbert.tuning.adam_w import AdamW
from kerasbert.tuning.bottleneck_adapters import adapters
from kerasbert.tuning.deltas import load_delta, save_delta
from kerasbert.tuning.describing import describe
from kerasbert.tuning.freezing import bitfit, freeze, unfreeze
from kerasbert.tuning.keeping import EpochScores, KeepBest
from kerasbert.tuning.key_prefixes import prefixes
from kerasbert.tuning.low_rank import lora
from kerasbert.tuning.merging import merge
from kerasbert.tuning.optimizers import optimizer
from kerasbert.tuning.resuming import Checkpoint
from kerasbert.tuning.schedules import (
    WarmupConstant,
    WarmupCosineDecay,
    WarmupLinearDecay,
    WarmupSchedule,
)
from kerasbert.tuning.soft_prompts import prompts
from kerasbert.tuning.unfreezing import GradualUnfreezing
from kerasbert.tuning.vocabulary import extend_vocabulary

__all__ = [
    "AdamW",
    "Checkpoint",
    "EpochScores",
    "GradualUnfreezing",
    "KeepBest",
    "WarmupConstant",
    "WarmupCosineDecay",
    "WarmupLinearDecay",
    "WarmupSchedule",
    "adapters",
    "bitfit",
    "describe",
    "extend_vocabulary",
    "freeze",
    "load_delta",
    "lora",
    "merge",
    "optimizer",
    "prefixes",
    "prompts",
    "save_delta",
    "unfreeze",
]
