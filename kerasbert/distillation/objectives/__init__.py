"""What a student learns from its teacher."""

from kerasbert.distillation.objectives.attention import AttentionScores, AttentionWeights
from kerasbert.distillation.objectives.embeddings import Embeddings
from kerasbert.distillation.objectives.feature_maps import FeatureMaps
from kerasbert.distillation.objectives.hidden_states import (
    FirstTokenStates,
    HiddenStates,
    StateDirections,
)
from kerasbert.distillation.objectives.objective import Batch, Objective, Outputs
from kerasbert.distillation.objectives.relations import Relations
from kerasbert.distillation.objectives.soft_targets import SoftTargets

__all__ = [
    "AttentionScores",
    "AttentionWeights",
    "Batch",
    "Embeddings",
    "FeatureMaps",
    "FirstTokenStates",
    "HiddenStates",
    "Objective",
    "Outputs",
    "Relations",
    "SoftTargets",
    "StateDirections",
]
