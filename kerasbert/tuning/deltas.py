"""What fine-tuning changed of a model, as one small file beside a base that many can share."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import Any

import keras
import numpy as np
from keras import ops
from safetensors import SafetensorError, safe_open

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.weight_files import write_safetensors
from kerasbert.families import get_family
from kerasbert.tuning.addition import Addition, encoder_of
from kerasbert.tuning.additions import read_additions
from kerasbert.tuning.compiling import compiled_anew

SETTINGS = "kerasbert_delta"  # the file's only entry of metadata, as JSON

# What does not change which weights there are, nor what they compute.
_TRAINING_FIELDS = ("hidden_dropout", "attention_dropout", "initializer_range")
_OTHER_ARGUMENTS = ("backbone", "preprocessor", "name", "trainable", "dtype", "dropout")
# What is found on held-out data after training: no part of a head's shape, loaded with its weights.
_FOUND_ARGUMENTS = ("no_answer_threshold",)
_SAMPLES = 4  # values of each frozen weight that say whether a base is the same


def save_delta(model, path: str | os.PathLike) -> None:
    """Write what fine-tuning changed: what was added, what is trainable, and the head.

    After `lora`, `adapters`, `prompts`, `prefixes` or partial freezing that is a small part of the
    model. What was trained and then frozen again is taken for a part of the base, and left out.

    Args:
        model: an `Encoder` or a task.
        path: where to write, a safetensors file. It appears only when it is complete.

    Raises:
        ValueError: if nothing was added and nothing is trainable.
        TypeError: if `model` is something else.
        OSError: if the file cannot be written.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    base = kerasbert.Encoder(config)
    base.save_to_preset("base")

    classifier = kerasbert.TextClassifier.from_preset("base", num_classes=2)
    tuning.lora(classifier, rank=4)
    tuning.save_delta(classifier, "lora.safetensors")

    again = kerasbert.TextClassifier.from_preset("base", num_classes=2)
    tuning.load_delta(again, "lora.safetensors")
    ```
    """
    encoder = encoder_of(model)
    changed = _changed(model, encoder)
    if not changed:
        raise ValueError(
            "There is nothing to save: the encoder is frozen and nothing was added to it. "
            f"Received: model={model!r}"
        )
    settings = {
        "model": _description(model, encoder),
        "additions": [addition.to_dict() for addition in encoder.additions],
        "base": {
            variable.path: _samples(variable)
            for variable in encoder.weights
            if variable.path not in changed and _is_float(variable)
        },
    }
    tensors = {path: ops.convert_to_numpy(variable.value) for path, variable in changed.items()}
    write_safetensors(path, tensors, {SETTINGS: json.dumps(settings)})


def load_delta(model, path: str | os.PathLike):
    """Apply what `save_delta` wrote, on any backend, to a model with the same base.

    Everything is checked before the model is changed.

    Args:
        model: an `Encoder` or a task of the class that was saved, with the same configuration and
            head, and the base's weights; changed in place. If it is compiled and something is
            added to it, it is compiled anew.
        path: the file.

    Returns:
        The model.

    Raises:
        ValueError: if the file is truncated or something else, or the base or the head is another
            one; it names what differs.
        TypeError: if `model` is something else.
    """
    encoder = encoder_of(model)
    settings, tensors = _read(path)
    additions = read_additions(settings["additions"])
    _check_description(settings["model"], _description(model, encoder), path)
    _check_additions(encoder, additions, path)
    _check_base(encoder, settings["base"], path)
    head = _head(model, encoder).keys()
    there = {key for key in tensors if not _is_added(key, additions)}
    _check_shapes(model, tensors, there | head, path)
    if not encoder.additions and additions:
        with compiled_anew(model):
            for addition in additions:
                addition.add_to(encoder)
    added = {v.path for v in encoder.weights if _is_added(v.path, additions)}
    _check_shapes(model, tensors, tensors.keys() | added, path)
    variables = {variable.path: variable for variable in model.weights}
    for key, value in tensors.items():
        variables[key].assign(value)
    for name, value in settings["model"]["found"].items():
        setattr(model, name, value)
    return model


def _changed(model, encoder) -> dict[str, keras.Variable]:
    """The weights that a delta holds, by path."""
    trainable = {id(variable) for variable in model.trainable_variables}
    kept = {
        variable.path: variable
        for variable in encoder.weights
        if id(variable) in trainable or _is_added(variable.path, encoder.additions)
    }
    return {**kept, **_head(model, encoder)}


def _is_added(path: str, additions: Iterable[Addition]) -> bool:
    return any(addition.trains(path) for addition in additions)


def _head(model, encoder) -> dict[str, keras.Variable]:
    """The weights outside the encoder, by path."""
    inside = {id(variable) for variable in encoder.weights}
    return {v.path: v for v in model.weights if id(v) not in inside}


def _description(model, encoder) -> dict[str, Any]:
    """What a model must have in common with the one that was saved."""
    config = encoder.config.to_dict()
    encoder_facts = {name: config[name] for name in config if name not in _TRAINING_FIELDS}
    encoder_facts["family"] = get_family(encoder.family).name
    arguments = {} if model is encoder else model.get_config()
    found = {name: arguments.pop(name) for name in _FOUND_ARGUMENTS if name in arguments}
    head = {name: arguments[name] for name in arguments if name not in _OTHER_ARGUMENTS}
    facts = {"class": type(model).__name__, "encoder": encoder_facts, "head": head, "found": found}
    return json.loads(json.dumps(facts))


def _samples(variable) -> list[float]:
    flat = np.ravel(ops.convert_to_numpy(variable.value)).astype("float32")
    return [float(x) for x in flat[np.linspace(0, flat.size - 1, _SAMPLES).astype(int)]]


def _is_float(variable) -> bool:
    return "float" in keras.backend.standardize_dtype(variable.dtype)


def _read(path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The settings and the arrays of a file."""
    try:
        with safe_open(path, framework="numpy") as file:
            settings = json.loads((file.metadata() or {})[SETTINGS])
            return settings, {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            f"The file is missing, cut short or damaged ({error}). Save or fetch it again. "
            f"Received: path={str(path)!r}"
        ) from error
    except (KeyError, json.JSONDecodeError) as error:
        raise CheckpointError(
            "This is no file that `kerasbert.tuning.save_delta` wrote. "
            f"Received: path={str(path)!r}"
        ) from error


def _check_description(saved, ours, path):
    differing = []
    for part in ("class", "encoder", "head"):
        before, now = saved[part], ours[part]
        if isinstance(before, str):
            before, now = {"": before}, {"": now}
        for name in sorted(before.keys() | now.keys()):
            if before.get(name) != now.get(name):
                where = f"{part}.{name}".rstrip(".")
                differing.append(f"{where}: {before.get(name)!r}, here {now.get(name)!r}")
    _refuse(differing, path, "was saved from another model. Build the one that it was saved from")


def _check_additions(encoder, additions: Iterable[Addition], path):
    if encoder.additions not in ((), tuple(additions)):
        _refuse(
            [f"{tuple(additions)}, here {encoder.additions}"],
            path,
            "adds something else than the model has. Load the base anew",
        )


def _check_base(encoder, samples: Mapping[str, list[float]], path):
    differing = [
        f"{variable.path}: {samples[variable.path]}, here {_samples(variable)}"
        for variable in encoder.weights
        if variable.path in samples
        and _is_float(variable)
        # Wide enough for a base in half precision; another model's weights differ by more.
        and not np.allclose(samples[variable.path], _samples(variable), rtol=1e-2, atol=1e-6)
    ]
    _refuse(differing, path, "was saved from a base with other weights. Load that base")


def _check_shapes(model, tensors, keys, path):
    """Every key must be in the file and in the model, and of one shape."""
    shapes = {variable.path: tuple(variable.shape) for variable in model.weights}
    found = {key: array.shape for key, array in tensors.items()}
    differing = [
        f"{key}: {found.get(key, 'missing')}, here {shapes.get(key, 'missing')}"
        for key in sorted(keys)
        if found.get(key) != shapes.get(key)
    ]
    _refuse(differing, path, "does not fit the model. Build the one that it was saved from")


def _refuse(differing: list[str], path, problem: str) -> None:
    if differing:
        shown = "\n  ".join(differing[:8])
        more = f"\n  and {len(differing) - 8} more" if len(differing) > 8 else ""
        raise CheckpointError(
            f"{path} {problem}; nothing was loaded. In the file:\n  {shown}{more}"
        )
