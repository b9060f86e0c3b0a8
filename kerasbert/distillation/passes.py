"""One pass of a model, with what objectives read of it."""

from __future__ import annotations

from collections.abc import Iterable

from kerasbert.distillation.objectives.objective import Outputs
from kerasbert.layers import trace
from kerasbert.models.named_inputs import NamedInputs


def run(model, inputs, names: Iterable[str], training: bool) -> Outputs:
    """The logits and the traces of one pass.

    Args:
        model: a task, or any Keras model that gives logits.
        inputs: the input dict.
        names: what to trace (`kerasbert.layers.TRACES`).
        training: whether dropout is active.
    """
    with trace(*sorted(names)) as record:
        logits = model(_inputs_of(model, inputs), training=training)
    return Outputs(logits, dict(record))


def _inputs_of(model, inputs):
    """What a model that is not ours takes of the batch: Keras matches dicts by order, not name."""
    wanted = getattr(model, "input", None)
    if isinstance(model, NamedInputs) or not isinstance(wanted, dict):
        return inputs
    return {name: inputs[name] for name in wanted}
