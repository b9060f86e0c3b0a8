"""What a student learns from its teacher."""

from kerasbert.distillation.objectives.hidden_states import HiddenStates
from kerasbert.distillation.objectives.objective import Objective, Outputs
from kerasbert.distillation.objectives.soft_targets import SoftTargets

__all__ = ["HiddenStates", "Objective", "Outputs", "SoftTargets"]
