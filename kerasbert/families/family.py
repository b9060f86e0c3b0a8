"""What a family is: facts about its presets, its Hugging Face layout and its heads."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kerasbert.families.config_map import Field, read_fields, write_fields
from kerasbert.families.names import Row
from kerasbert.layers import EncoderConfig


@dataclasses.dataclass(frozen=True)
class Preset:
    """A named architecture with the handle of its pretrained weights on a hub."""

    config: EncoderConfig
    handle: str
    description: str


@dataclasses.dataclass(frozen=True)
class ClassificationHead:
    """The layers between the encoder and the logits of a sequence classifier.

    Args:
        pool: `"pooled"` takes `pooled_output`, `"first"` the first token's state.
        dense: activation of a dense layer of width hidden_dim before the output, or `None`.
        dropout_field: the Hugging Face configuration's field with the rate of the dropout before
            the output layer.
        dropout: the rate where that field is absent or null; `None` for the encoder's
            `hidden_dropout`.
    """

    pool: str
    dense: str | None
    dropout_field: str
    dropout: float | None = None


@dataclasses.dataclass(frozen=True)
class Family:
    """One family of encoders.

    Args:
        name: the family's name, which is Hugging Face's `model_type`.
        prefix: what the encoder's weight names start with in the files of a task model.
        architectures: Hugging Face class names by task: `"encoder"`, `"classifier"`.
        presets: presets by name.
        defaults: the configuration that an empty `config.json` of this `model_type` means.
        config_fields: how the fields of a `config.json` map to `EncoderConfig`.
        fixed: fields that change the computation, with the only value that is supported.
        harmless: further fields of this family that do not change the encoder's computation.
        weights: the encoder's variables and their names in the family's files.
        head_weights: the classification head's, likewise.
        classification_head: the classification head.
    """

    name: str
    prefix: str
    architectures: Mapping[str, str]
    presets: Mapping[str, Preset]
    defaults: EncoderConfig
    config_fields: tuple[Field, ...]
    weights: tuple[Row, ...]
    head_weights: tuple[Row, ...]
    classification_head: ClassificationHead
    fixed: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    harmless: frozenset[str] = frozenset()

    def read_config(self, values: Mapping[str, Any], source: str) -> EncoderConfig:
        """The encoder that a `config.json` describes.

        Args:
            values: the file's contents.
            source: the file's name, for errors.

        Raises:
            ValueError: for a field that is not understood, or a value that is not supported.
        """
        harmless = self.harmless | {self.classification_head.dropout_field}
        return read_fields(
            values, self.config_fields, self.defaults, self.fixed, harmless, source=source
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
        try:
            read = self.read_config(self.write_config(config), source=self.name)
        except (ValueError, AttributeError):
            return False
        segments = bool(config.num_segments) == bool(self.defaults.num_segments)
        poolers = (None, self.defaults.pooler)
        return segments and config.pooler in poolers and read == config.replace(pooler=read.pooler)
