"""KerasHub's preset folders, by the tables in `families/keras_hub.py`."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.filling import NamedWeights
from kerasbert.checkpoints.h5_files import open_h5_weights
from kerasbert.checkpoints.json_files import read_json
from kerasbert.checkpoints.presets import TASK_FILE, TASK_WEIGHTS_FILE, WEIGHTS_FILE
from kerasbert.checkpoints.saved_head import SavedHead
from kerasbert.checkpoints.sources import CONFIG_FILE, Source
from kerasbert.families import Family, get_family
from kerasbert.families.config_map import read_fields
from kerasbert.families.keras_hub import KERAS_HUB, TASK_CLASSES, KerasHubBackbone
from kerasbert.families.names import Row
from kerasbert.layers import EncoderConfig

# What every Keras model's configuration holds, and the computation does not depend on.
_HARMLESS = frozenset({"name", "trainable", "dtype"})
_FLOATS = ("float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16", "float64")


@dataclasses.dataclass(frozen=True)
class KerasHubFolder:
    """A folder in KerasHub's layout, read as far as its configuration.

    Args:
        folder: the folder.
        facts: its backbone class.
        family: the family of its encoder.
        config: its encoder's configuration.
        task_class: KerasHub's class of the task that it holds, `""` for an encoder alone.
        task_values: that task's configuration.
    """

    folder: Path
    facts: KerasHubBackbone
    family: Family
    config: EncoderConfig
    task_class: str = ""
    task_values: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @classmethod
    def open(cls, source: Source, task: str | None = None) -> KerasHubFolder:
        """Read the configuration of a `Source` of layout `"keras_hub"`, for any task.

        Raises:
            CheckpointError: for a backbone or a configuration that is not supported.
        """
        path = source.folder / CONFIG_FILE
        class_name, values = _class_and_values(path, source.config)
        if class_name not in KERAS_HUB:
            raise CheckpointError(
                f"{path} is of a KerasHub backbone that is not supported. Supported are "
                f"{sorted(KERAS_HUB)}. Received: class_name={class_name!r}"
            )
        facts = KERAS_HUB[class_name]
        task_class, task_values = "", {}
        if (source.folder / TASK_FILE).is_file():
            task_path = source.folder / TASK_FILE
            task_class, task_values = _class_and_values(task_path, read_json(task_path))
        family = get_family(facts.family)
        config = _read_config(facts, values, str(path))
        return cls(source.folder, facts, family, config, task_class, task_values)

    @contextlib.contextmanager
    def weights(self) -> Iterator[KerasHubWeights]:
        """Open the weights, the encoder's and a task's, for a `with` block."""
        files = {"": self.folder / WEIGHTS_FILE}
        if (self.folder / TASK_WEIGHTS_FILE).is_file():
            files["task/"] = self.folder / TASK_WEIGHTS_FILE
        with open_h5_weights(files) as opened:
            yield KerasHubWeights(self.folder, opened, CONFIG_FILE)

    @property
    def encoder_rows(self) -> tuple[Row, ...]:
        """The encoder's variables and their keys, for one block."""
        is_unprojected = self.config.embedding_dim is None
        return (is_unprojected and self.facts.weights_without_projection) or self.facts.weights

    @property
    def copies(self) -> tuple[Row, ...]:
        """Further keys of variables; there are none."""
        return ()

    def head_rows(self, task: str) -> tuple[Row, ...]:
        """The variables of a task's head and their keys; none where the folder has no such head."""
        return self.facts.heads.get(task, ()) if task == self.task else ()

    @property
    def task(self) -> str | None:
        """Our name of the task whose head the folder holds; `None` without one that can be read."""
        # A classifier may end in a softmax; ours gives logits.
        is_linear = self.task_values.get("activation") in (None, "linear")
        for suffix, task in TASK_CLASSES.items():
            if self.task_class.endswith(suffix) and is_linear and task in self.facts.heads:
                return task
        return None

    def head(self, task: str) -> SavedHead | None:
        """The saved head of a task, or `None` if the folder has none. Its classes have no names."""
        if task != self.task:
            return None
        if task == "masked_lm":
            return SavedHead(options={"dense": self.facts.masked_lm_activation})
        rate = self.task_values.get("dropout")
        options = {} if rate is None else {"dropout": rate}
        return SavedHead(num_classes=self.task_values.get("num_classes"), options=options)


class KerasHubWeights(NamedWeights):
    """The weights of a KerasHub preset."""

    def is_passed_over(self, key):
        return key.startswith(("optimizer/", "task/optimizer/"))


def _class_and_values(path: Path, data: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    name, values = data.get("class_name"), data.get("config")
    if not isinstance(name, str) or not isinstance(values, Mapping):
        raise CheckpointError(
            f"{path} does not describe a Keras object: it needs `class_name` and `config`. Save or "
            "fetch the preset again."
        )
    return name, values


def _read_config(facts: KerasHubBackbone, values: Mapping[str, Any], source: str) -> EncoderConfig:
    _check_dtype(values.get("dtype"), source)
    config = read_fields(values, facts.config_fields, facts.defaults, {}, _HARMLESS, source=source)
    if config.embedding_dim == config.hidden_dim and not facts.projects_equal_width:
        config = config.replace(embedding_dim=None)
    return config.replace(attention_dropout=config.hidden_dropout)


def _check_dtype(dtype: Any, source: str) -> None:
    """Refuse a quantized preset, whose weights are integers and scales."""
    policy = dtype.get("config", {}).get("name") if isinstance(dtype, Mapping) else dtype
    if policy is not None and policy not in _FLOATS:
        raise CheckpointError(
            f"{source} is of a quantized model, which cannot be read. Save it unquantized with "
            f"KerasHub. Received: dtype={policy!r}"
        )
