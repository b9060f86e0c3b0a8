"""The optimizer of the papers' fine-tuning recipe."""

from __future__ import annotations

import re

import keras

from kerasbert.tuning.schedules import WarmupLinearDecay

# Biases and the parameters of normalisation layers are not decayed
# (google-research/bert, optimization.py: exclude_from_weight_decay).
UNDECAYED = (r"bias$", r"gamma$", r"beta$")


# On torch, Keras replaces its optimizers by subclasses with a fused update: inherit from that one.
@keras.saving.register_keras_serializable(package="kerasbert")
class AdamW(type(keras.optimizers.AdamW())):
    """`keras.optimizers.AdamW` that leaves biases and norms undecayed, also after reloading.

    Args:
        learning_rate: a float or a schedule.
        weight_decay: the decay of all other weights.
        undecayed: regular expressions; variables whose path matches one are not decayed.
        **kwargs: of `keras.optimizers.AdamW`.
    """

    def __init__(self, learning_rate=2e-5, weight_decay=0.01, undecayed=UNDECAYED, **kwargs):
        super().__init__(learning_rate=learning_rate, weight_decay=weight_decay, **kwargs)
        self.undecayed = tuple(undecayed)

    def build(self, variables):
        # By variable, not by `var_names`: Keras matches those with the backend's own names, which
        # on TensorFlow end in ":0".
        if not self.built:
            is_undecayed = re.compile("|".join(self.undecayed) or r"(?!)").search
            self.exclude_from_weight_decay(
                var_list=[variable for variable in variables if is_undecayed(variable.path)]
            )
        super().build(variables)

    def get_config(self):
        return {**super().get_config(), "undecayed": list(self.undecayed)}


def optimizer(
    learning_rate: float = 2e-5,
    weight_decay: float = 0.01,
    warmup: float = 0.1,
    total_steps: int | None = None,
    clip_norm: float | None = 1.0,
    **kwargs,
) -> AdamW:
    """AdamW as BERT was fine-tuned with: warm-up, linear decay, clipping by the global norm.

    Sources: Devlin et al., 2018, appendix A.3; google-research/bert, optimization.py.

    Args:
        learning_rate: the peak of the schedule.
        weight_decay: decay of kernels and embeddings; biases and norms are not decayed.
        warmup: share of the steps that warm up.
        total_steps: steps in all; `None` for those of each `fit`.
        clip_norm: the global norm that gradients are clipped to; `None` for no clipping.
        **kwargs: further arguments of `keras.optimizers.AdamW`.

    Returns:
        An optimizer to pass to `compile`.

    Example:

    ```python
    from kerasbert import tuning

    optimizer = tuning.optimizer(learning_rate=5e-5, warmup=0.06)
    ```
    """
    schedule = WarmupLinearDecay(learning_rate, warmup=warmup, total_steps=total_steps)
    return AdamW(
        schedule,
        weight_decay,
        global_clipnorm=clip_norm,
        epsilon=kwargs.pop("epsilon", 1e-6),
        **kwargs,
    )
