"""Models to presets and to Hugging Face folders."""

from __future__ import annotations

import os

import keras
import numpy as np

from kerasbert.checkpoints import hugging_face, presets
from kerasbert.checkpoints.sentence_transformers import EmbeddingModules, write_modules
from kerasbert.data.files import atomic_folder
from kerasbert.families import Family, family_for
from kerasbert.families.names import expand
from kerasbert.models.loading import not_the_head, optimizer_of, variables_by_path
from kerasbert.tuning.addition import check_plain


def write_encoder(encoder, folder: str | os.PathLike) -> None:
    """Write an encoder's preset, and remove the parts of a task's that stood there before."""
    with atomic_folder(folder) as target:
        _write_encoder_files(encoder, target)
    presets.remove_task(folder)


def write_task(task, folder: str | os.PathLike) -> None:
    """Write a task's preset: encoder, head, preprocessor."""
    with atomic_folder(folder) as target:
        _write_encoder_files(task.backbone, target)
        presets.write_object(target, presets.TASK_FILE, task, drop=("backbone", "preprocessor"))
        presets.save_weights(task, target / presets.TASK_WEIGHTS_FILE, skip=not_the_head(task))
        if task.preprocessor is not None:
            presets.write_object(target, presets.PREPROCESSOR_FILE, task.preprocessor)
            task.preprocessor.tokenizer.save_assets(target / presets.TOKENIZER_ASSETS)
    if task.preprocessor is None:
        presets.remove_preprocessor(folder)


def _write_encoder_files(encoder, target):
    presets.write_object(target, presets.CONFIG_FILE, encoder)
    presets.save_weights(encoder, target / presets.WEIGHTS_FILE, skip=optimizer_of(encoder))


def export_encoder(encoder, folder: str | os.PathLike, family: str | None) -> None:
    """Write an encoder in Hugging Face's layout."""
    facts = family_for(encoder.config, family or encoder.family)
    with atomic_folder(folder) as target:
        _write_their_encoder(encoder, target, facts)


def export_embedder(task, folder, facts: Family, modules: EmbeddingModules) -> None:
    """Write an embedder in the layout of sentence-transformers, with its tokenizer.

    Args:
        task: the model.
        folder: where to write.
        facts: the family in whose layout the encoder is written.
        modules: what follows the encoder.
    """
    weights = [] if task.projection is None else [task.projection.kernel, task.projection.bias]
    arrays = [np.asarray(keras.ops.convert_to_numpy(each.value), "float32") for each in weights]
    with atomic_folder(folder) as target:
        _write_their_encoder(task.backbone, target, facts)
        write_modules(target, modules, task.backbone.config.hidden_dim, arrays or None)
        _write_their_tokenizer(task, target)


def _write_their_encoder(encoder, target, facts):
    check_plain(encoder, "Hugging Face's format")
    hugging_face.write_folder(
        target,
        facts,
        {"architectures": [facts.architecture], **facts.write_config(encoder.config)},
        variables_by_path(encoder),
        expand(facts.weights, encoder.config),
        prefix=False,
    )


def export_task(task, folder: str | os.PathLike, facts: Family, values: dict) -> None:
    """Write a task in Hugging Face's layout, with its tokenizer.

    Args:
        task: the model.
        folder: where to write.
        facts: the family whose layout is written; it has a head for the task.
        values: the task's own fields of `config.json`.
    """
    check_plain(task.backbone, "Hugging Face's format")
    config, head = task.backbone.config, facts.heads[task.task]
    variables = variables_by_path(task)
    if not head.has_pooler:
        variables = {p: v for p, v in variables.items() if not p.startswith("pooler/")}
    values = {"architectures": [head.architecture], **facts.write_config(config), **values}
    with atomic_folder(folder) as target:
        hugging_face.write_folder(
            target,
            facts,
            values,
            variables,
            expand((*facts.weights, *head.weights), config),
            prefix=True,
        )
        _write_their_tokenizer(task, target)


def _write_their_tokenizer(task, target):
    if task.preprocessor is not None:
        inputs = _their_inputs(task.backbone.config)
        task.preprocessor.tokenizer.save(target, model_input_names=inputs)


def _their_inputs(config) -> list[str]:
    """The inputs that transformers' tokenizer gives to a model of this configuration."""
    segments = ["token_type_ids"] if config.num_segments else []
    return ["input_ids", *segments, "attention_mask"]
