"""Models that take a dict of named inputs, and only look at the names that they know."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

MASK_POSITIONS = "mask_positions"
OPTIONAL_INPUTS = ("task_type_ids", "global_mask", MASK_POSITIONS)


class NamedInputs:
    """Mixin for functional models: inputs are matched by name, further entries are ignored.

    One batch thus serves models with different inputs (a BERT teacher and a DistilBERT student).
    Keras itself would flatten the dict alphabetically and match by position. Both `__call__` and
    `call` select, because JAX's stateless call enters at `call`. Inputs that are rarely wanted may
    be left out.
    """

    input_names: tuple[str, ...]

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(self._select(inputs), *args, **kwargs)

    def call(self, inputs, training=None, mask=None, **kwargs):
        # `training` by name: Keras's trainers pass it only where they see it in the signature.
        return super().call(self._select(inputs), training=training, mask=mask, **kwargs)

    def _select(self, inputs):
        if not isinstance(inputs, dict):
            raise ValueError(
                f"`{type(self).__name__}` takes a dict with the keys {list(self.input_names)}, "
                f"each (batch, length). Received: inputs of type {type(inputs).__name__}"
            )
        absent = [name for name in self.input_names if name not in inputs]
        missing = [name for name in absent if name not in OPTIONAL_INPUTS]
        if missing:
            raise ValueError(
                f"`{type(self).__name__}` takes a dict with the keys {list(self.input_names)}, "
                f"each (batch, length). Missing: {missing}. Received: {sorted(inputs)}"
            )
        defaults = {name: self._default_input(name, inputs["padding_mask"]) for name in absent}
        return {name: inputs.get(name, defaults.get(name)) for name in self.input_names}

    def _default_input(self, name, padding_mask):
        """What an optional input is where it is not given, in the shape of the mask."""
        return zeros_like(padding_mask)


def token_inputs(config) -> dict[str, keras.KerasTensor]:
    """Symbolic inputs of an encoder with this configuration, (batch, length) int32 each."""
    names = ["token_ids", "padding_mask"]
    if config.num_segments:
        names.insert(1, "segment_ids")
    if config.num_task_types:
        names.append("task_type_ids")
    if config.attention.has_global_tokens:
        names.append("global_mask")
    return {name: keras.Input((None,), dtype="int32", name=name) for name in names}


def zeros_like(mask):
    """int32 zeros, of the same kind: a call must not mix tensors with arrays."""
    if ops.is_tensor(mask) or isinstance(mask, keras.KerasTensor):
        return ops.zeros_like(mask, dtype="int32")
    return np.zeros_like(mask, dtype="int32")


def first_token(mask):
    """int32, 1 for the first token of each row and 0 for the others, of the same kind."""
    zeros = zeros_like(mask)
    if isinstance(zeros, np.ndarray):
        return np.concatenate((np.ones_like(zeros[..., :1]), zeros[..., 1:]), axis=-1)
    return ops.concatenate((ops.ones_like(zeros[..., :1]), zeros[..., 1:]), axis=-1)
