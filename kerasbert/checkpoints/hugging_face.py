"""Hugging Face folders in and out, by the tables of the families."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import keras
import numpy as np

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.sources import CONFIG_FILE, Source
from kerasbert.checkpoints.weight_files import WeightFiles, open_weights, write_safetensors
from kerasbert.data.files import atomic_write
from kerasbert.families import Family, get_family
from kerasbert.families.names import Row, expand
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
    def open(cls, source: Source) -> HuggingFaceFolder:
        """Read the configuration of a `Source` of layout `"transformers"`."""
        path = source.folder / CONFIG_FILE
        family = get_family(source.config["model_type"])
        config = family.read_config(source.config, source=str(path))
        return cls(source.folder, source.config, family, config)

    @contextlib.contextmanager
    def weights(self) -> Iterator[HuggingFaceWeights]:
        """Open the weights (headers only) for a `with` block."""
        with open_weights(self.folder) as files:
            yield HuggingFaceWeights(self.folder, self.family, files)

    @property
    def is_classifier(self) -> bool:
        """Whether the folder says that it holds a sequence classifier."""
        name = self.family.architectures["classifier"]
        return name in (self.values.get("architectures") or ())

    @property
    def labels(self) -> list[str]:
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


class HuggingFaceWeights:
    """The weights of a folder, found by the un-prefixed names of the family's tables."""

    def __init__(self, folder: Path, family: Family, files: WeightFiles):
        self.folder, self.family, self.files = folder, family, files
        self._key_by_name = {self._modern(key): key for key in files}

    @staticmethod
    def _modern(key: str) -> str:
        """TensorFlow's names of the two parameters of a norm stand in some old files."""
        for old, new in (
            (".LayerNorm.gamma", ".LayerNorm.weight"),
            (".LayerNorm.beta", ".LayerNorm.bias"),
        ):
            if key.endswith(old):
                return key.removesuffix(old) + new
        return key

    def key(self, row: Row) -> str | None:
        """The file's key for a row of a table, with or without the family's prefix."""
        for name in (f"{self.family.prefix}.{row.theirs}", row.theirs):
            if name in self._key_by_name:
                return self._key_by_name[name]
        return None

    def has(self, rows: Iterable[Row], prefix: str) -> bool:
        """Whether the file holds any row whose Keras path starts with `prefix`."""
        return any(row.ours.startswith(prefix) and self.key(row) for row in rows)

    def load_into(self, variables: Mapping[str, keras.Variable], rows: Iterable[Row]) -> None:
        """Fill `variables` (by path) from the file.

        Everything is checked before the first variable is changed. Keys that no row asked for are
        reported in one warning.

        Raises:
            CheckpointError: if a variable's key is missing or of another shape; it names the file,
                the key and both shapes.
        """
        plan = self._plan(variables, rows)
        self._report_unused(key for _, key, _ in plan)
        arrays = ((variable, self.files.read(key), row) for variable, key, row in plan)
        for variable, array, row in arrays:
            variable.assign(array.T if row.transpose else array)

    def _plan(self, variables, rows):
        by_path = {row.ours: row for row in rows}
        plan, problems = [], []
        for path, variable in variables.items():
            row = by_path[path]
            key = self.key(row)
            if key is None:
                problems.append(
                    f"{row.theirs}: missing, expected for {path} of shape {tuple(variable.shape)}"
                )
                continue
            shape = self.files.shape(key)
            if (shape[::-1] if row.transpose else shape) != tuple(variable.shape):
                wanted = tuple(variable.shape)[::-1] if row.transpose else tuple(variable.shape)
                file = self.files.file_of(key).name
                problems.append(f"{key}: shape {shape} in {file}, {wanted} in the model")
            plan.append((variable, key, row))
        if problems:
            shown = "\n  ".join(problems[:8])
            more = f"\n  and {len(problems) - 8} more" if len(problems) > 8 else ""
            raise CheckpointError(
                f"The weights in {self.folder} do not fit the model that its {CONFIG_FILE} "
                f"describes. Fetch the folder again, or mend the configuration.\n  {shown}{more}"
            )
        return plan

    def _report_unused(self, used):
        unused = sorted(set(self.files) - set(used))
        unused = [key for key in unused if not key.endswith(_BUFFERS)]
        if unused:
            shown = ", ".join(unused[:6]) + (", ..." if len(unused) > 6 else "")
            warnings.warn(
                f"{len(unused)} weights in {self.folder} are not part of this model and were not "
                f"loaded: {shown}",
                stacklevel=5,
            )


def read_pooler(weights: HuggingFaceWeights, config: EncoderConfig) -> EncoderConfig:
    """`config` without a pooler if the file has no weights for it."""
    has_pooler = weights.has(expand(weights.family.weights, config), "pooler/")
    return config if has_pooler else config.replace(pooler=None)


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
    by_path = {row.ours: row for row in rows}
    tensors = {}
    for path, variable in variables.items():
        row = by_path[path]
        array = np.asarray(keras.ops.convert_to_numpy(variable.value), dtype="float32")
        key = f"{family.prefix}.{row.theirs}" if prefix and row.prefixed else row.theirs
        tensors[key] = np.ascontiguousarray(array.T if row.transpose else array)
    write_safetensors(Path(folder) / WEIGHTS_FILE, tensors)
    with atomic_write(Path(folder) / CONFIG_FILE, "w") as file:
        json.dump(dict(values), file, indent=2)
