"""Models that take a dict of named inputs, and only look at the names that they know."""

from __future__ import annotations

import keras


class NamedInputs:
    """Mixin for functional models: inputs are matched by name, further entries are ignored.

    One batch thus serves models with different inputs (a BERT teacher and a DistilBERT student).
    Keras itself would flatten the dict alphabetically and match by position. Both `__call__` and
    `call` select, because JAX's stateless call enters at `call`.
    """

    input_names: tuple[str, ...]

    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(self._select(inputs), *args, **kwargs)

    def call(self, inputs, *args, **kwargs):
        return super().call(self._select(inputs), *args, **kwargs)

    def _select(self, inputs):
        if not isinstance(inputs, dict):
            raise ValueError(
                f"`{type(self).__name__}` takes a dict with the keys {list(self.input_names)}, "
                f"each (batch, length). Received: inputs of type {type(inputs).__name__}"
            )
        missing = [name for name in self.input_names if name not in inputs]
        if missing:
            raise ValueError(
                f"`{type(self).__name__}` takes a dict with the keys {list(self.input_names)}, "
                f"each (batch, length). Missing: {missing}. Received: {sorted(inputs)}"
            )
        return {name: inputs[name] for name in self.input_names}


def token_inputs(config) -> dict[str, keras.KerasTensor]:
    """Symbolic inputs of an encoder with this configuration, (batch, length) int32 each."""
    names = ["token_ids", "padding_mask"]
    if config.num_segments:
        names.insert(1, "segment_ids")
    return {name: keras.Input((None,), dtype="int32", name=name) for name in names}
