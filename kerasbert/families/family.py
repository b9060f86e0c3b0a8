"""What a family is: facts about its presets, its Hugging Face layout and its heads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kerasbert.families.config_map import Field, read_fields, write_fields
from kerasbert.families.heads import DEFAULT_HEADS, Head
from kerasbert.families.names import Row
from kerasbert.layers import EncoderConfig


@dataclasses.dataclass(frozen=True)
class Preset:
    """A named architecture with the handle of its pretrained weights on a hub."""

    config: EncoderConfig
    handle: str
    description: str


@dataclasses.dataclass(frozen=True)
class Family:
    """One family of encoders.

    Args:
        name: the family's name, which is Hugging Face's `model_type`.
        prefix: what the encoder's weight names start with in the files of a task model.
        architecture: Hugging Face's class of the bare encoder.
        presets: presets by name.
        defaults: the configuration that an empty `config.json` of this `model_type` means.
        config_fields: how the fields of a `config.json` map to `EncoderConfig`.
        weights: the encoder's variables and their names in the family's files.
        heads: the heads by task; see `kerasbert.families.heads`.
        fixed: fields that change the computation, with the only value that is supported.
        harmless: further fields of this family that do not change the encoder's computation.
    """

    name: str
    prefix: str
    architecture: str
    presets: Mapping[str, Preset]
    defaults: EncoderConfig
    config_fields: tuple[Field, ...]
    weights: tuple[Row, ...]
    heads: Mapping[str, Head]
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    harmless: frozenset[str] = frozenset()

    def head(self, task: str) -> Head:
        """The head of a task: the family's own, or a plain one where Hugging Face has none."""
        return self.heads.get(task, DEFAULT_HEADS[task])

    def read_config(self, values: Mapping[str, Any], source: str) -> EncoderConfig:
        """The encoder that a `config.json` describes.

        Args:
            values: the file's contents.
            source: the file's name, for errors.

        Raises:
            ValueError: for a field that is not understood, or a value that is not supported.
        """
        of_heads = {option.theirs for head in self.heads.values() for option in head.options}
        return read_fields(
            values,
            self.config_fields,
            self.defaults,
            self.fixed,
            self.harmless | of_heads,
            source=source,
        )

    def write_config(self, config: EncoderConfig) -> dict[str, Any]:
        """The fields of a `config.json` that describe `config`."""
        return {
            "model_type": self.name,
            **write_fields(config, self.config_fields),
            **self.fixed,
        }

    def can_represent(self, config: EncoderConfig) -> bool:
        """Whether this family's files can say all of `config`."""
        if self.defaults.num_segments and not config.num_segments:
            return False  # their table of segments cannot be empty
        try:
            read = self.read_config(self.write_config(config), source=self.name)
        except (ValueError, AttributeError, TypeError, StopIteration):
            return False
        poolers = (None, self.defaults.pooler)
        return config.pooler in poolers and read == config.replace(pooler=read.pooler)
