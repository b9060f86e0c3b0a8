"""Hugging Face folders in and out, by the tables of the families."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.filling import NamedWeights
from kerasbert.checkpoints.saved_head import SavedHead
from kerasbert.checkpoints.sources import CONFIG_FILE, Source
from kerasbert.checkpoints.weight_files import WeightFiles, open_weights, write_safetensors
from kerasbert.data.files import atomic_write
from kerasbert.families import Family, get_family
from kerasbert.families.names import Part, Row
from kerasbert.layers import EncoderConfig

WEIGHTS_FILE = "model.safetensors"

# Buffers that older versions of transformers stored among the weights.
_BUFFERS = ("embeddings.position_ids", "embeddings.token_type_ids")


@dataclasses.dataclass(frozen=True)
class HuggingFaceFolder:
    """A folder in Hugging Face's layout, read as far as its configuration."""

    folder: Path
    values: Mapping[str, Any]
    family: Family
    config: EncoderConfig

    @classmethod
    def open(cls, source: Source, task: str | None = None) -> HuggingFaceFolder:
        """Read the configuration of a `Source` of layout `"transformers"`, for any task."""
        path = source.folder / CONFIG_FILE
        family = get_family(source.config["model_type"])
        config = family.read_config(source.config, source=str(path))
        return cls(source.folder, source.config, family, config)

    @contextlib.contextmanager
    def weights(self) -> Iterator[HuggingFaceWeights]:
        """Open the weights (headers only) for a `with` block."""
        with open_weights(self.folder) as files:
            yield HuggingFaceWeights(self.folder, files, CONFIG_FILE, self.family.prefix)

    @property
    def encoder_rows(self) -> tuple[Row, ...]:
        """The encoder's variables and their keys, for one block."""
        return self.family.weights

    def head_rows(self, task: str) -> tuple[Row, ...]:
        """The variables of a task's head and their keys."""
        return self.family.head(task).weights

    @property
    def copies(self) -> tuple[Row, ...]:
        """Further keys of variables: those of tied weights."""
        return tuple({row: None for head in self.family.heads.values() for row in head.tied})

    def head(self, task: str) -> SavedHead | None:
        """The saved head of a task, or `None` if the folder does not say that it has one."""
        named = self.values.get("architectures") or self._architectures_by_weights()
        sources = ("masked_lm", "pretraining") if task == "masked_lm" else (task,)
        heads = [self.family.heads[name] for name in sources if name in self.family.heads]
        if task not in self.family.heads or not any(head.architecture in named for head in heads):
            return None
        facts = self.family.heads[task]
        return SavedHead(
            labels=self._labels,
            problem_type=self.values.get("problem_type"),
            options=facts.read_options(self.values),
        )

    def _architectures_by_weights(self) -> list[str]:
        """For a file that names none (DeBERTa v3's): the pretraining heads that it has."""
        tasks = ("masked_lm", "pretraining", "replaced_tokens")
        heads = [self.family.heads[task] for task in tasks if task in self.family.heads]
        with contextlib.suppress(CheckpointError), self.weights() as weights:
            return [
                head.architecture for head in heads if all(weights.key(row) for row in head.weights)
            ]
        return []  # without weights, or with broken ones, which loading them reports

    @property
    def _labels(self) -> list[str]:
        """The classes' names, in the order of the logits.

        Where none are given, they are numbered: `num_labels` of them, two by default.
        """
        count = self.values.get("num_labels") or 2
        by_id = self.values.get("id2label") or {i: f"LABEL_{i}" for i in range(count)}
        try:
            names = {int(index): str(label) for index, label in by_id.items()}
            return [names[index] for index in range(len(names))]
        except (ValueError, KeyError) as error:
            raise CheckpointError(
                f"`id2label` in {self.folder / CONFIG_FILE} must number the labels from 0. "
                f"Received: id2label={by_id}"
            ) from error


class HuggingFaceWeights(NamedWeights):
    """The weights of a folder, found by the un-prefixed names of the family's tables."""

    def __init__(self, folder: Path, files: WeightFiles, config_file: str, prefix: str):
        super().__init__(folder, files, config_file)
        self._prefix = prefix
        self._key_by_name = {_modern(key): key for key in files}

    def key(self, row):
        """The file's key for a row of a table, with or without the family's prefix."""
        for stem in (row.theirs, *row.also):
            for name in (f"{self._prefix}.{stem}", stem):
                if name in self._key_by_name:
                    return self._key_by_name[name]
        return None

    def is_passed_over(self, key):
        return key.endswith(_BUFFERS)


def _modern(key: str) -> str:
    """TensorFlow's names of the two parameters of a norm stand in some old files."""
    for old, new in (
        (".LayerNorm.gamma", ".LayerNorm.weight"),
        (".LayerNorm.beta", ".LayerNorm.bias"),
    ):
        if key.endswith(old):
            return key.removesuffix(old) + new
    return key


def write_folder(
    folder: str | os.PathLike,
    family: Family,
    values: Mapping[str, Any],
    variables: Mapping[str, keras.Variable],
    rows: Iterable[Row],
    prefix: bool,
) -> None:
    """Write `config.json` and `model.safetensors`.

    Args:
        folder: an existing folder.
        family: the family whose layout is written.
        values: contents of `config.json`.
        variables: the model's variables by path.
        rows: the rows of the family's tables for this model.
        prefix: whether the encoder's keys carry the family's prefix (files of task models do).
    """
    write_safetensors(
        Path(folder) / WEIGHTS_FILE,
        _their_tensors(variables, rows, family.prefix if prefix else ""),
    )
    with atomic_write(Path(folder) / CONFIG_FILE, "w") as file:
        json.dump(dict(values), file, indent=2)


def _their_tensors(variables, rows, prefix):
    by_path = {row.ours: row for row in rows}
    parts: dict[str, dict[int, np.ndarray]] = {}
    wholes: dict[str, Part] = {}
    tensors = {}
    for path, variable in variables.items():
        row = by_path[path]
        array = np.asarray(keras.ops.convert_to_numpy(variable.value), dtype="float32")
        array = np.ascontiguousarray(array.T if row.transpose else array)
        key = f"{prefix}.{row.theirs}" if prefix and row.prefixed else row.theirs
        if row.part is None:
            tensors[key] = array
        else:
            parts.setdefault(key, {})[row.part.index] = array
            wholes[key] = row.part
    for key, by_index in parts.items():
        tensors[key] = wholes[key].join([by_index[index] for index in sorted(by_index)])
    return tensors
