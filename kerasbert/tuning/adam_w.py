"""AdamW with a rate for each layer."""

from __future__ import annotations

import math
import re

import keras
import numpy as np
from keras import ops

from kerasbert.tuning.depths import count_layers, depth_of
from kerasbert.tuning.fused_steps import clip, compiled_step, fused_step

# Biases and the parameters of normalisation layers are not decayed
# (google-research/bert, optimization.py: exclude_from_weight_decay).
UNDECAYED = (r"bias$", r"gamma$", r"beta$")


@keras.saving.register_keras_serializable(package="kerasbert")
class AdamW(keras.optimizers.AdamW):
    """AdamW (Kingma & Ba, 2015; Loshchilov & Hutter, 2019) with a rate for each layer.

    It computes as `torch.optim.AdamW` does, on every backend: each variable decays by its own rate,
    and `epsilon` is added after the correction of the moments' bias (algorithm 1 of Kingma & Ba;
    Keras's own adds it before). With `gradient_accumulation_steps`, the learning rate's schedule
    counts steps of the optimizer, not batches.

    On torch, its fused kernels do the work, and `global_clipnorm` scales the gradients in place. On
    TensorFlow, XLA compiles the step of models of a million parameters and more, inside `fit`.

    Args:
        learning_rate: float, default 2e-5, or a schedule: the rate of the top.
        weight_decay: float, default 0.01, the decay of all weights that are not `undecayed`.
        undecayed: regular expressions; variables whose path matches one are not decayed. Default:
            biases and the parameters of norms.
        layer_decay: float in (0, 1], the factor from each layer's rate to that of the layer below;
            see `kerasbert.tuning.optimizer`. Default `None`: one rate for all.
        num_layers: int, distinct layers of the model; needed for `layer_decay`. Default `None`.
        **kwargs: of `keras.optimizers.AdamW`.

    Raises:
        ValueError: for a `layer_decay` that makes no sense, or variables of more layers.
    """

    def __init__(
        self,
        learning_rate=2e-5,
        weight_decay=0.01,
        undecayed=UNDECAYED,
        layer_decay=None,
        num_layers=None,
        **kwargs,
    ):
        super().__init__(learning_rate=learning_rate, weight_decay=weight_decay, **kwargs)
        _check_layer_decay(layer_decay, num_layers)
        self.undecayed = tuple(undecayed)
        self.layer_decay = layer_decay
        self.num_layers = num_layers

    def build(self, variables):
        if self.built:
            return
        found = count_layers(variables)
        if self.num_layers is not None and found > self.num_layers:
            raise ValueError(
                "The optimizer was made for a model of fewer layers. Make it with the model that "
                f"it trains. Received: num_layers={self.num_layers}, variables of {found} layers"
            )
        count = self.num_layers or found
        self._depths = tuple(depth_of(variable.path, count) for variable in variables)
        is_undecayed = re.compile("|".join(self.undecayed) or r"(?!)").search
        self._decays = tuple(
            self._use_weight_decay(variable) and not is_undecayed(variable.path)
            for variable in variables
        )
        factor = self.layer_decay or 1.0
        # By depth: embeddings, layers, what is above them.
        rates = np.array([*(factor ** (count - depth) for depth in range(count + 1)), 1], "float32")
        self._relative_rates = rates
        # A variable, so that it can change inside `fit`.
        self.rate_factors = self.add_variable(
            rates.shape,
            initializer=lambda shape, dtype=None: ops.convert_to_tensor(rates, dtype),
            name="rate_factors",
        )
        super().build(variables)

    @property
    def top(self) -> int:
        """The depth of what is above the layers; see `kerasbert.tuning.depths.depth_of`."""
        return len(self._relative_rates) - 1

    def train_from(self, depth: int) -> None:
        """Hold all that is deeper in the model where it is.

        Args:
            depth: 0 to train all, 1 for all but the embeddings, i + 1 for layer i and what is above
                it, `top` for what is above the layers.
        """
        trains = np.arange(len(self._relative_rates)) >= depth
        self.rate_factors.assign(self._relative_rates * trains)

    def relative_rate(self, variable) -> float:
        """The rate of a variable as a factor of the schedule's."""
        factors = ops.convert_to_numpy(self.rate_factors)
        return float(factors[self._depths[self._get_variable_index(variable)]])

    def decays(self, variable) -> bool:
        """Whether a variable is decayed."""
        return self._decays[self._get_variable_index(variable)]

    def _backend_apply_gradients(self, grads, trainable_variables):
        # On TensorFlow the gradient of an embedding is a list of rows, one for each token, and the
        # norm of the list is not that of the gradient. `reshape` adds up the rows of a token.
        # Some are float32 in a model of half precision (the factors of LoRA): one norm for all.
        pairs = zip(grads, trainable_variables, strict=True)
        grads = [ops.cast(ops.reshape(g, variable.shape), "float32") for g, variable in pairs]
        if keras.backend.backend() == "tensorflow":
            compiled_step(super()._backend_apply_gradients, grads, trainable_variables)
        else:
            super()._backend_apply_gradients(grads, trainable_variables)

    def _clip_gradients(self, grads):
        if keras.backend.backend() == "torch" and self.global_clipnorm:
            clip(grads, self.global_clipnorm)
            return grads
        return super()._clip_gradients(grads)

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        if keras.backend.backend() == "torch":
            fused_step(self, grads, trainable_variables, learning_rate)
        else:
            super()._backend_update_step(grads, trainable_variables, learning_rate)

    def update_step(self, gradient, variable, learning_rate):
        index = self._get_variable_index(variable)
        dtype = variable.dtype
        step = ops.cast(self.iterations + 1, "float32")
        first_bias = _one_minus_power(self.beta_1, step)
        second_bias = ops.sqrt(_one_minus_power(self.beta_2, step))
        rate = ops.cast(learning_rate, "float32") * self.rate_factors[self._depths[index]]

        # What `stop_gradient` gives on torch is the variable's own memory, which `*=` and the like
        # change. Half of the time would go into temporaries as large as the variable.
        states = self._momentums[index], self._velocities[index], variable
        m, v, w = (ops.stop_gradient(state) for state in states)
        gradient = ops.cast(gradient, dtype)
        part = gradient * (1 - self.beta_1)
        m *= self.beta_1
        m += part
        part *= gradient
        part *= (1 - self.beta_2) / (1 - self.beta_1)
        v *= self.beta_2
        v += part
        update = ops.sqrt(self._largest(index, v))
        update += ops.cast(self.epsilon * second_bias, dtype)
        update **= -1
        update *= m
        update *= ops.cast(rate * second_bias / first_bias, dtype)
        if self._decays[index]:
            w *= ops.cast(1 - rate * self.weight_decay, dtype)
        w -= update
        for state, value in zip(states, (m, v, w), strict=True):
            self.assign(state, value)

    def _largest(self, index, v):
        """What divides the momentum: the second moment, or with AMSGrad its largest so far."""
        if not self.amsgrad:
            return v
        largest = self._velocity_hats[index]
        self.assign(largest, ops.maximum(largest, v))
        return largest

    def _apply_weight_decay(self, variables):
        """Done in `update_step`, by each variable's own rate."""

    def _get_current_learning_rate(self):
        # Keras gives the schedule the number of batches, of which accumulation takes several.
        if isinstance(self._learning_rate, keras.optimizers.schedules.LearningRateSchedule):
            return self._learning_rate(self.iterations)
        return super()._get_current_learning_rate()

    def get_config(self):
        return {
            **super().get_config(),
            "undecayed": list(self.undecayed),
            "layer_decay": self.layer_decay,
            "num_layers": self.num_layers,
        }


def _one_minus_power(beta: float, step):
    """1 - beta ** step, which loses half of its digits in float32 if it is computed like that."""
    return -ops.expm1(step * (math.log(beta) if beta else -math.inf))


def _check_layer_decay(layer_decay, num_layers) -> None:
    if layer_decay is None:
        return
    if not (isinstance(layer_decay, float | int) and 0 < layer_decay <= 1):
        raise ValueError(f"`layer_decay` must be in (0, 1]. Received: layer_decay={layer_decay!r}")
    if num_layers is None:
        raise ValueError(
            "`layer_decay` needs `num_layers`, which `tuning.optimizer(model, layer_decay=...)` "
            "takes from the model. Received: num_layers=None"
        )
