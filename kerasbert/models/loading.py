"""Models from presets: our own folders, those of other libraries, built-in architectures."""

from __future__ import annotations

import contextlib
import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import keras

from kerasbert.checkpoints import presets
from kerasbert.checkpoints.foreign import open_foreign
from kerasbert.checkpoints.sources import Source
from kerasbert.families import Family
from kerasbert.families.names import expand
from kerasbert.layers import EncoderConfig
from kerasbert.layers.initializing import weights_to_be_loaded
from kerasbert.text import Tokenizer


def variables_by_path(model: keras.Model) -> dict[str, keras.Variable]:
    """The model's weights by their paths, which the families' tables use."""
    return {variable.path: variable for variable in model.weights}


def optimizer_of(model: keras.Model) -> list:
    """The model's optimizer, which a preset leaves out."""
    optimizer = getattr(model, "optimizer", None)  # an uncompiled model has no such attribute
    return [] if optimizer is None else [optimizer]


def not_the_head(task: keras.Model) -> list:
    """What of a task is not in the weights file of its head."""
    return [*task.backbone._flatten_layers(), *optimizer_of(task)]


def load_encoder(cls, source: Source, load_weights: bool, changes: Mapping[str, Any]):
    """An encoder of class `cls` from a source, with some constructor arguments replaced."""
    if source.layout == "built-in":
        return cls(source.preset.config, family=source.family.name, **changes)
    if source.layout == "kerasbert":
        with _initializing(load_weights):
            encoder = presets.read_object(source.folder, presets.CONFIG_FILE, cls, **changes)
        if load_weights:
            presets.load_weights(
                source.folder, presets.WEIGHTS_FILE, encoder, optimizer_of(encoder)
            )
        return encoder
    folder = open_foreign(source)
    if not load_weights:
        return cls(folder.config, family=folder.family.name, **changes)
    with folder.weights() as weights:
        config = _read_pooler(folder, weights)
        with weights_to_be_loaded():
            encoder = cls(config, family=folder.family.name, **changes)
        weights.load_into(
            variables_by_path(encoder),
            expand(folder.encoder_rows, config),
            copies=expand(folder.copies, config),
            are_tied=False,
        )
    return encoder


def load_task(cls, source: Source, load_weights: bool, changes: dict[str, Any]):
    """A task of class `cls` from a source, with some constructor arguments replaced.

    The saved head is kept unless the arguments ask for another one.
    """
    encoder_changes = {"dtype": changes.pop("dtype")} if "dtype" in changes else {}
    if source.layout == "kerasbert":
        return _load_own_task(cls, source, load_weights, changes, encoder_changes)
    if source.layout == "built-in":
        config = _for_task(cls, source.preset.config, source.family)
        backbone = cls.backbone_cls(config, family=source.family.name, **encoder_changes)
        return cls(backbone, **cls.merge_arguments({}, changes))
    return _load_foreign_task(cls, source, load_weights, changes, encoder_changes)


def _load_own_task(cls, source, load_weights, changes, encoder_changes):
    cls, saved = _saved_task(cls, source)
    keeps_head = bool(saved) and cls.keeps_head(saved, changes)
    backbone = load_encoder(cls.backbone_cls, source, load_weights, encoder_changes)
    arguments = cls.merge_arguments(saved, changes)
    with _initializing(load_weights and keeps_head):
        task = cls(backbone, **_with_preprocessor(cls, source, backbone, arguments))
    if keeps_head and load_weights:
        presets.load_weights(source.folder, presets.TASK_WEIGHTS_FILE, task, not_the_head(task))
    elif saved and not keeps_head:
        _warn_of_new_head(source, changes)
    return task


def _saved_task(cls, source):
    """The class to build and the saved arguments: none where the folder holds another task."""
    if not (source.folder / presets.TASK_FILE).is_file():
        return cls, {}
    saved_cls, saved = presets.read_class(source.folder, presets.TASK_FILE, keras.Model)
    if issubclass(saved_cls, cls):
        return saved_cls, saved
    warnings.warn(
        f"{source.folder} holds a `{saved_cls.__name__}`, not a `{cls.__name__}`: only its encoder "
        "is taken, and the head is new and must be trained.",
        stacklevel=6,
    )
    return cls, {}


def _load_foreign_task(cls, source, load_weights, changes, encoder_changes):
    folder = open_foreign(source, cls.task)
    saved = cls.arguments_in(folder)
    keeps_head = bool(saved) and cls.keeps_head(saved, changes)
    arguments = cls.merge_arguments(saved, changes)
    with contextlib.ExitStack() as stack:
        weights = stack.enter_context(folder.weights()) if load_weights else None
        config = _read_pooler(folder, weights) if load_weights else folder.config
        config = _for_task(cls, config, folder.family)
        with _initializing(load_weights):
            backbone = cls.backbone_cls(config, family=folder.family.name, **encoder_changes)
        with _initializing(load_weights and keeps_head):
            task = cls(backbone, **_with_preprocessor(cls, source, backbone, arguments))
        if load_weights:
            head_rows = folder.head_rows(cls.task) if keeps_head else ()
            variables = variables_by_path(task if keeps_head else backbone)
            weights.load_into(
                {p: v for p, v in variables.items() if not p.startswith(cls.only_ours)},
                expand((*folder.encoder_rows, *head_rows), config),
                copies=expand(folder.copies, config),
                are_tied=keeps_head and bool(folder.family.head(cls.task).tied),
                left_out="pooler/",
            )
        if load_weights and keeps_head:
            task.read_head(folder)
    if saved and not keeps_head:
        _warn_of_new_head(source, changes)
    return task


def _read_pooler(folder, weights) -> EncoderConfig:
    """The folder's configuration, without a pooler if its files have no weights for it."""
    has_pooler = weights.has(expand(folder.encoder_rows, folder.config), "pooler/")
    return folder.config if has_pooler else folder.config.replace(pooler=None)


def _for_task(cls, config: EncoderConfig, family: Family) -> EncoderConfig:
    """The configuration without a pooler that the family's head does not have."""
    return config if family.head(cls.task).has_pooler else config.replace(pooler=None)


def _with_preprocessor(cls, source, backbone, arguments):
    """`arguments` with the saved preprocessor, or one made of the saved tokenizer."""
    if "preprocessor" in arguments or source.folder is None:
        return arguments
    folder = source.folder
    if source.layout == "kerasbert" and (folder / presets.PREPROCESSOR_FILE).is_file():
        preprocessor = presets.read_object(folder, presets.PREPROCESSOR_FILE, keras.layers.Layer)
        preprocessor.tokenizer.load_assets(folder)
        return {**arguments, "preprocessor": preprocessor}
    if cls.preprocessor_cls is None or not Tokenizer.exists_in(folder):
        return arguments
    usual = inspect.signature(cls.preprocessor_cls).parameters["sequence_length"].default
    preprocessor = cls.preprocessor_cls(
        Tokenizer.from_preset(folder),
        sequence_length=min(usual, backbone.config.max_sequence_length),
    )
    return {**arguments, "preprocessor": preprocessor}


def _initializing(will_load: bool):
    return weights_to_be_loaded() if will_load else contextlib.nullcontext()


def _warn_of_new_head(source, changes):
    given = {name: value for name, value in changes.items() if name != "preprocessor"}
    warnings.warn(
        f"The saved head in {source.folder} is another than asked for: the head is new and must be "
        f"trained. Asked for: {given}",
        stacklevel=5,
    )
