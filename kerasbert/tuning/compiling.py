"""Compiling a model anew after its weights have changed in number or in what is trained."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import keras


@contextlib.contextmanager
def compiled_anew(model: keras.Model) -> Iterator[None]:
    """Change a model inside the `with` block, and compile it again as it was, if it was.

    The optimizer starts anew, without moments and steps. Functions that were compiled with the
    model as it was are dropped.

    Raises:
        ValueError: before the block runs, if what the model was compiled with cannot be repeated.
    """
    settings = _settings(model)
    yield
    for part in (model, getattr(model, "backbone", model)):
        part.train_function = part.test_function = part.predict_function = None
    if settings is not None:
        model.compile(**settings)


def _settings(model) -> dict[str, Any] | None:
    """What `model.compile` was called with, the optimizer and the metrics as new objects."""
    if not model.compiled:
        return None
    try:
        config = {**model.get_compile_config(), "loss": None}
        return {**keras.saving.deserialize_keras_object(config), "loss": model.loss}
    except (TypeError, ValueError) as error:
        raise ValueError(
            "The model cannot be compiled anew: its optimizer or a metric cannot be rebuilt from "
            "its configuration. Register it with `keras.saving.register_keras_serializable`, or "
            f"compile the model afterwards. Received: {error}"
        ) from error
