"""The optimizer of the papers' fine-tuning recipe."""

from __future__ import annotations

import math

import keras
from keras import ops

from kerasbert.tuning.adam_w import AdamW
from kerasbert.tuning.depths import count_layers
from kerasbert.tuning.schedules import SCHEDULES

Schedule = keras.optimizers.schedules.LearningRateSchedule


def optimizer(
    model: keras.Model | None = None,
    learning_rate: float = 2e-5,
    layer_decay: float | None = None,
    weight_decay: float = 0.01,
    warmup: float = 0.1,
    total_steps: int | None = None,
    schedule: str | Schedule = "linear",
    clip_norm: float | None = 1.0,
    cycles: int = 1,
    **kwargs,
) -> AdamW:
    """AdamW as BERT was fine-tuned with: warm-up, linear decay, clipping by the global norm.

    Sources: Devlin et al., 2018, appendix A.3; google-research/bert, optimization.py.

    With `layer_decay`, rates fall from the top down (Sun et al., 2019, arXiv:1905.05583,
    "layer-wise decreasing layer rate"): the top layer, and what is above it (pooler, head), has the
    full rate, each layer below `layer_decay` times that of the layer above it, and the embeddings
    that factor less than the lowest layer. (ELECTRA's code, google-research/electra,
    optimization.py, has the same factor between layers, but gives the full rate to the head alone,
    and `layer_decay ** 2` of it to the top layer.) Layers that share their weights (ALBERT) are one
    layer.

    Args:
        model: the task or encoder that it will train; needed for `layer_decay`. Default `None`.
        learning_rate: float > 0, the peak of the schedule, at the top. Default 2e-5.
        layer_decay: float in (0, 1]; Sun et al. find 0.95 best. Default `None`: one rate for all.
        weight_decay: float, decay of kernels and embeddings, in proportion to their rate; biases
            and norms are not decayed. Default 0.01.
        warmup: float in [0, 1), share of the steps that warm up. Default 0.1.
        total_steps: int, the optimizer's steps in all; `None` (default) for those of each `fit`.
        schedule: what follows the warm-up: `"linear"` (default) or `"cosine"` decay to zero, or
            `"constant"`. Or a Keras schedule, which gives the rates itself: `learning_rate`,
            `warmup`, `total_steps` and `cycles` are then not used.
        clip_norm: float, the global norm that gradients are clipped to; `None` for no clipping.
            Default 1.0.
        cycles: int >= 1, how many times warm-up and decay run, one after the other. With as many as
            epochs and `GradualUnfreezing`, each stage warms up anew. Default 1.
        **kwargs: further arguments of `keras.optimizers.AdamW`, such as
            `gradient_accumulation_steps`.

    Returns:
        An `AdamW` to pass to `compile`.

    Raises:
        ValueError: for values that make no sense, or `layer_decay` without a model with layers.
        TypeError: if `model` is no Keras model.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    classifier.compile(optimizer=tuning.optimizer(classifier, layer_decay=0.95, warmup=0.06))
    print(tuning.describe(classifier))
    ```
    """
    if model is not None and not isinstance(model, keras.Model):
        raise TypeError(
            "`model` must be a Keras model or None; give other arguments by name, such as "
            f"`learning_rate=`. Received: model={model!r}"
        )
    if isinstance(schedule, str):
        schedule = _schedule(schedule, learning_rate, warmup, total_steps, cycles)
    elif not isinstance(schedule, Schedule):
        raise TypeError(
            f"`schedule` must be one of {sorted(SCHEDULES)} or a Keras schedule. "
            f"Received: schedule={schedule!r}"
        )
    return AdamW(
        schedule,
        weight_decay,
        layer_decay=layer_decay,
        num_layers=None if layer_decay is None else _layers_of(model),
        global_clipnorm=clip_norm,
        epsilon=kwargs.pop("epsilon", 1e-6),
        **kwargs,
    )


def prepare(optimizer: keras.optimizers.Optimizer, batches: int) -> bool:
    """Make an optimizer ready for a `fit`.

    A schedule without a length is laid over the run, and what a `GradualUnfreezing` that was
    interrupted has left frozen trains again.

    Args:
        optimizer: any, also behind the scaling of losses of `mixed_float16`.
        batches: how many there will be; 0 if unknown.

    Returns:
        Whether functions compiled with the optimizer are out of date.
    """
    optimizer = inner(optimizer)
    is_ours = isinstance(optimizer, AdamW)
    if is_ours and optimizer.built:
        optimizer.train_from(0)
    schedule = getattr(optimizer, "_learning_rate", None)
    if not batches or not hasattr(schedule, "plan"):
        return False
    # Keras's own optimizers give the schedule batches, not steps.
    per_step = (optimizer.gradient_accumulation_steps or 1) if is_ours else 1
    done = int(ops.convert_to_numpy(batch_counter(optimizer)))
    first_step = done // per_step
    return schedule.plan(first_step, (done + batches) // per_step - first_step)


def inner(optimizer: keras.optimizers.Optimizer) -> keras.optimizers.Optimizer:
    """The optimizer itself, where Keras wraps it to scale losses (`mixed_float16`)."""
    return getattr(optimizer, "inner_optimizer", optimizer)


def batch_counter(optimizer: keras.optimizers.Optimizer) -> keras.Variable:
    """The variable that counts batches; `optimizer.iterations` is a number of steps."""
    return inner(optimizer)._iterations


def _schedule(name, learning_rate, warmup, total_steps, cycles) -> Schedule:
    if name not in SCHEDULES:
        raise ValueError(
            f"`schedule` must be one of {sorted(SCHEDULES)} or a Keras schedule. "
            f"Received: schedule={name!r}"
        )
    if not (isinstance(learning_rate, float | int) and 0 < learning_rate < math.inf):
        raise ValueError(
            "`learning_rate` must be a positive number; a schedule goes to `schedule=`. "
            f"Received: learning_rate={learning_rate!r}"
        )
    return SCHEDULES[name](float(learning_rate), warmup, total_steps, cycles=cycles)


def _layers_of(model) -> int:
    """How many layers `layer_decay` has to do with."""
    count = 0 if model is None else count_layers(model.weights)
    if not count:
        raise ValueError(
            "`layer_decay` needs the model that will be trained, one with layers: "
            f"`tuning.optimizer(model, layer_decay=...)`. Received: model={model!r}"
        )
    return count
