"""Feature maps of the teacher as targets, layer after layer (MobileBERT)."""

from __future__ import annotations

from keras import ops

from kerasbert.distillation.objectives.hidden_states import StatesObjective
from kerasbert.distillation.objectives.objective import weighted_mean


class FeatureMaps(StatesObjective):
    """Squared error of normalized feature maps, and of their means and variances.

    MobileBERT's feature map transfer (Sun et al., 2020, arXiv:2004.02984, equation 3, and section
    3.4, where it is split into the normalized maps and their statistics): for each pair of layers

    `MSE(norm(H_student), norm(H_teacher)) + mean_weight * MSE(means) + variance_weight *
    MAE(variances)`

    `norm` is a layer normalization without scale and shift; means and variances are those of each
    token over the width, and all are averaged over the real tokens.

    Args:
        layer_map: as in `HiddenStates`, from 1; `None` spaces the layers evenly.
        shared_projection: as in `HiddenStates`; default `False`.
        mean_weight: float, default 50.
        variance_weight: float, default 0.05. With the defaults and `weight=100`, the factors are
            those of the authors' published settings (100, 5000 and 5).
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.

    Example:

    ```python
    from kerasbert.distillation.objectives import FeatureMaps

    objective = FeatureMaps(weight=100.0)
    ```
    """

    default_name = "feature_maps"
    first = 1

    def __init__(
        self,
        layer_map=None,
        shared_projection=False,
        mean_weight: float = 50.0,
        variance_weight: float = 0.05,
        weight: float = 1.0,
        name: str | None = None,
    ):
        super().__init__(layer_map, shared_projection, weight, name)
        self.mean_weight, self.variance_weight = mean_weight, variance_weight

    def compare(self, state, target, batch):
        ours, theirs = (_normalized(values) for values in (state, target))
        error = ops.mean(ops.square(ours[0] - theirs[0]), axis=-1)
        error = error + self.mean_weight * ops.square(ours[1] - theirs[1])
        error = error + self.variance_weight * ops.abs(ours[2] - theirs[2])
        return weighted_mean(error, batch.token_weights())


def _normalized(states, epsilon: float = 1e-12):
    """Normalized states (B, T, D), and the means and variances (B, T) over the width."""
    mean, variance = ops.moments(states, axes=-1, keepdims=True)
    normalized = (states - mean) * ops.rsqrt(variance + epsilon)
    return normalized, ops.squeeze(mean, -1), ops.squeeze(variance, -1)
