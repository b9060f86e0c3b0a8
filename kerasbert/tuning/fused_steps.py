"""Steps of AdamW in a few passes over the memory instead of two dozen."""

from __future__ import annotations

import itertools
import math

from keras import ops

# Parameters from which on compiling the step (seconds) is soon made up for (a tenth of a second
# for each step of 20 million).
_WORTH_COMPILING = 1_000_000


def compiled_step(step, gradients, variables) -> None:
    """On TensorFlow, a step that XLA compiles if it is part of a graph and the model is large.

    Args:
        step: takes lists of gradients and of variables.
        gradients: TensorFlow tensors.
        variables: Keras variables that the optimizer updates.
    """
    import tensorflow as tf

    is_small = sum(math.prod(variable.shape) for variable in variables) < _WORTH_COMPILING
    if is_small or tf.executing_eagerly() or tf.distribute.has_strategy():
        step(gradients, variables)
    else:
        tf.function(lambda gradients: step(gradients, variables), jit_compile=True)(gradients)


def clip(gradients, most: float) -> None:
    """Scale gradients, in place, such that their common norm is at most `most`.

    As `torch.nn.utils.clip_grad_norm_` does: to scale copies takes longer than the step itself.

    Args:
        gradients: torch tensors.
        most: the largest norm.
    """
    import torch

    with torch.no_grad():
        norm = torch.nn.utils.get_total_norm(gradients)
        torch._foreach_mul_(gradients, torch.clamp(most / norm, max=1.0))


def fused_step(optimizer, gradients, variables, learning_rate) -> None:
    """What `AdamW.update_step` does, for all variables, in place.

    Args:
        optimizer: an `AdamW` that is built.
        gradients: torch tensors, one for each variable; read only.
        variables: Keras variables that the optimizer updates.
        learning_rate: float or scalar tensor, the rate of the top.
    """
    import torch
    from torch.optim.adamw import adamw

    def kind(pair):
        index = optimizer._get_variable_index(pair[1])
        return optimizer._depths[index], optimizer._decays[index]

    rate, factors, step = (
        ops.stop_gradient(ops.cast(value, "float32"))
        for value in (learning_rate, optimizer.rate_factors, optimizer.iterations)
    )
    for (depth, decays), members in itertools.groupby(
        sorted(zip(gradients, variables, strict=True), key=kind), kind
    ):
        members = list(members)
        indices = [optimizer._get_variable_index(variable) for _, variable in members]

        def states(kept, indices=indices):
            return [kept[index].value for index in indices]

        with torch.no_grad():
            adamw(
                [variable.value for _, variable in members],
                [gradient.to(variable.value.dtype) for gradient, variable in members],
                states(optimizer._momentums),
                states(optimizer._velocities),
                states(optimizer._velocity_hats) if optimizer.amsgrad else [],
                list(step.repeat(len(members)).unbind()),
                fused=True,
                amsgrad=optimizer.amsgrad,
                beta1=optimizer.beta_1,
                beta2=optimizer.beta_2,
                lr=rate * factors[depth],
                weight_decay=optimizer.weight_decay if decays else 0.0,
                eps=optimizer.epsilon,
                maximize=False,
            )
