"""Hidden states of the teacher as targets."""

from __future__ import annotations

from keras import ops

from kerasbert.distillation import layer_maps
from kerasbert.distillation.objectives.objective import Objective, applied_layers, weighted_mean
from kerasbert.distillation.objectives.projections import projections


class StatesObjective(Objective):
    """Base class of objectives that compare hidden states, pair of layers by pair of layers.

    Args:
        layer_map: dict or pairs from student to teacher layers: 0 are the embeddings, 1 the output
            of the first layer, -1 of the last. `None`: see the class.
        shared_projection: bool: whether one projection serves all pairs, or each has its own. They
            are made only where the widths differ.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.
    """

    traces = ("hidden_states",)
    reads_tokens = True
    first = 0  # the first layer of a map

    def __init__(self, layer_map=None, shared_projection=True, weight=1.0, name=None):
        super().__init__(weight, name)
        self.layer_map = layer_map
        self.shared_projection = shared_projection
        self._pairs: list[tuple[int, int]] = []

    def build(self, teacher, student):
        depths = applied_layers(student, "student"), applied_layers(teacher, "teacher")
        self._pairs = layer_maps.resolve(self.layer_map, *depths, self.first)
        self.layers = projections(
            teacher, student, 1 if self.shared_projection else len(self._pairs)
        )

    def teacher_reads(self):
        return {"hidden_states": {teacher_layer for _, teacher_layer in self._pairs}}

    def compute_loss(self, teacher_outputs, student_outputs, batch):
        loss = 0.0
        for pair, (student_layer, teacher_layer) in enumerate(self._pairs):
            state = ops.cast(student_outputs.traces["hidden_states"][student_layer], "float32")
            target = ops.cast(teacher_outputs.traces["hidden_states"][teacher_layer], "float32")
            loss = loss + self.compare(self._projected(state, pair), target, batch)
        return loss

    def _projected(self, state, pair):
        if not self.layers:
            return state
        return self.layers[0 if self.shared_projection else pair](state)

    def compare(self, state, target, batch):
        """The value of one pair of states (batch, length, width), both float32."""
        raise NotImplementedError("Subclasses of `StatesObjective` define `compare`.")


class HiddenStates(StatesObjective):
    """Mean squared error between hidden states, summed over pairs of layers.

    `Σ over pairs of MSE(H_student W, H_teacher)` (Jiao et al., 2019, arXiv:1909.10351, equations 8
    and 9), the mean taken over the real tokens of the batch and over the width. `W` is a trainable
    projection, made where the widths differ.

    Args:
        layer_map: dict or pairs from student to teacher layers: 0 are the embeddings, 1 the output
            of the first layer, -1 of the last. `None` pairs embeddings with embeddings and spaces
            the layers evenly.
        shared_projection: whether one projection serves all pairs, as in TinyBERT, or each has its
            own.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.

    Example:

    ```python
    from kerasbert.distillation.objectives import HiddenStates

    objective = HiddenStates(layer_map={0: 0, 1: 3, 2: 6})
    ```
    """

    default_name = "hidden_states"

    def compare(self, state, target, batch):
        error = ops.mean(ops.square(state - target), axis=-1)  # (B, T)
        return weighted_mean(error, batch.token_weights())


class StateDirections(StatesObjective):
    """One minus the cosine of hidden states, summed over pairs of layers.

    The third term of DistilBERT (Sanh et al., 2019, arXiv:1910.01108, section 3), which aligns the
    last hidden states of the real tokens; the mean is taken over these.

    Args:
        layer_map: as in `HiddenStates`. `None` is the last layer with the last.
        shared_projection: as in `HiddenStates`.
        weight: factor of the objective in the total loss: a float or a schedule.
        name: name of the objective's metric.

    Example:

    ```python
    from kerasbert.distillation.objectives import StateDirections

    objective = StateDirections(weight=1.0)
    ```
    """

    default_name = "state_directions"

    def __init__(self, layer_map=None, shared_projection=True, weight=1.0, name=None):
        super().__init__(
            {-1: -1} if layer_map is None else layer_map, shared_projection, weight, name
        )

    def compare(self, state, target, batch):
        cosine = ops.sum(normalized(state) * normalized(target), axis=-1)  # (B, T)
        return weighted_mean(1 - cosine, batch.token_weights())


class FirstTokenStates(StatesObjective):
    """Squared distance of the normalized states of [CLS], summed over pairs of layers.

    Patient knowledge distillation (Sun et al., 2019, arXiv:1908.09355, equation 7): the states of
    the first token, each divided by its length, so that only directions count. As in the authors'
    code, the squared differences are averaged over the width.

    Args:
        layer_map: as in `HiddenStates`. `None` is PKD-Skip (section 3.2): the inner layers, evenly
            spaced; of 12 for a student of 6, {1: 2, 2: 4, 3: 6, 4: 8, 5: 10}. The last layer is
            left to the soft targets.
        shared_projection: as in `HiddenStates`.
        weight: factor of the objective in the total loss (the paper's β): a float or a schedule.
        name: name of the objective's metric.

    Raises:
        ValueError: in a `Distiller`, if a student of one layer has no inner one.

    Example:

    ```python
    from kerasbert.distillation.objectives import FirstTokenStates

    objective = FirstTokenStates(weight=100.0)
    ```
    """

    default_name = "first_token_states"
    reads_tokens = False
    first = 1

    def build(self, teacher, student):
        super().build(teacher, student)
        if self.layer_map is None:
            self._pairs = self._pairs[:-1]
        if not self._pairs:
            raise ValueError(
                "A student of one layer has no layer below the last. Give `layer_map={1: -1}`."
            )

    def compare(self, state, target, batch):
        difference = normalized(state[:, 0]) - normalized(target[:, 0])
        error = ops.mean(ops.square(difference), axis=-1)
        return weighted_mean(error, batch.token_weights()[:, 0])


def normalized(states, epsilon: float = 1e-12):
    """States divided by their length, with a finite gradient at zero."""
    squared = ops.sum(ops.square(states), axis=-1, keepdims=True)
    return states * ops.rsqrt(ops.maximum(squared, epsilon))
