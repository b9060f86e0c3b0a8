"""What all tasks share: named inputs, fitting on raw input, heads of the family, presets."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, ClassVar

import keras_hub
import numpy as np

from kerasbert import tuning
from kerasbert.checkpoints.saved_head import SavedHead
from kerasbert.checkpoints.sources import resolve
from kerasbert.families import Head, family_for, get_family
from kerasbert.models.encoder import Encoder
from kerasbert.models.fitting import Fitting
from kerasbert.models.loading import load_task
from kerasbert.models.named_inputs import NamedInputs, first_token
from kerasbert.models.saving import export_task, write_task
from kerasbert.text import TextPreprocessor


class EncoderTask(NamedInputs, Fitting, keras_hub.models.Task):
    """Base class of the tasks: an `Encoder`, a head, and a preprocessor for the raw input.

    A subclass names its `task` (a key of `kerasbert.families.heads.DEFAULT_HEADS`) and builds its
    functional model in its constructor. It says how it is trained (`_default_loss`,
    `_default_metrics`, `encode_targets`, `class_weights`) and what a saved head means for its
    constructor (`arguments_of`, `keeps_head`, `merge_arguments`).
    """

    backbone_cls = Encoder
    preprocessor_cls: ClassVar[type | None] = None
    task: ClassVar[str]
    # Starts of the paths of variables that other libraries' files do not have.
    only_ours: ClassVar[tuple[str, ...]] = ()

    def _set_up(self, backbone, preprocessor, dropout, head_options) -> Head:
        """Check the constructor's arguments and keep them; give the facts of the head."""
        check_fit(backbone, preprocessor)
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.dropout = dropout
        self.head_options = dict(head_options or {})
        self.input_names = backbone.input_names
        known = {field.name for field in dataclasses.fields(Head)}
        if not known.issuperset(self.head_options):
            raise ValueError(
                f"`head_options` must be some of {sorted(known)}. "
                f"Received: head_options={self.head_options}"
            )
        changes = {} if dropout is None else {"dropout": dropout}
        facts = get_family(backbone.family).head(self.task)
        self._reads_first_token = facts.pool in ("first", "pooled")
        return facts.resolve(backbone.config, **self.head_options, **changes)

    @property
    def preprocessor(self):
        """The preprocessor of raw input, or `None`. Another may be set at any time."""
        return getattr(self, "_preprocessor", None)

    @preprocessor.setter
    def preprocessor(self, value):
        # Not tracked: on torch it would be a module, and the tokenizer's `train` one's switch.
        object.__setattr__(self, "_preprocessor", value)

    def _default_input(self, name, padding_mask):
        if name != "global_mask" or not self._reads_first_token:
            return super()._default_input(name, padding_mask)
        return first_token(padding_mask)  # as transformers: what is read alone must see all

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Load a task, or an encoder with a new head.

        Args:
            preset: a built-in name (`kerasbert.list_presets()`), a folder written by
                `save_to_preset`, by transformers or by KerasHub, or one with Google's original
                TensorFlow 1 checkpoint, or an `hf://` or `kaggle://` handle.
            load_weights: `False` for the architecture alone, randomly initialised.
            **kwargs: arguments of the constructor that win over the saved ones, and the `dtype` of
                the encoder. Other classes than the saved ones mean a new head, with a warning.

        Returns:
            An instance of the task.

        Raises:
            ValueError: for an unknown preset, or files that are broken or do not fit.
        """
        return load_task(cls, resolve(preset, load_weights), load_weights, kwargs)

    def save_to_preset(self, preset_dir, max_shard_size=None):
        """Write the task as a preset folder, which `from_preset` reads on any backend.

        Args:
            preset_dir: the folder; files are written under temporary names and then renamed.
            max_shard_size: ignored, taken for compatibility with KerasHub.
        """
        write_task(self, preset_dir)

    def export_to_transformers(self, folder, family=None):
        """Write the task, and its tokenizer if it has a preprocessor, as transformers reads them.

        Args:
            folder: where to write `config.json`, `model.safetensors` and the tokenizer's files.
            family: the family whose layout to write; `None` for the encoder's own, or the only one
                that can represent it.

        Raises:
            ValueError: if that layout cannot represent the encoder, or the head.
        """
        config = self.backbone.config
        facts = family_for(config, family or self.backbone.family)
        if self.task not in facts.heads:
            raise ValueError(
                f"transformers has no model for this task in the family {facts.name!r}. It has "
                f"some for {sorted(facts.heads)}. Received: task={self.task!r}"
            )
        if facts.name != get_family(self.backbone.family).name:
            self._check_head_of(facts)
        changes = {} if self.dropout is None else {"dropout": self.dropout}
        head = facts.heads[self.task].resolve(config, **self.head_options, **changes)
        written = head.write_options()
        _check_can_say(facts, self.task, head, written, config)
        export_task(self, folder, facts, {**written, **self._their_values()})

    def _check_head_of(self, facts):
        """Refuse to write one family's head as another's."""
        ours = get_family(self.backbone.family).head(self.task)
        theirs = facts.heads[self.task]
        for name in ("pool", "dense", "norm", "widens_tokens"):
            if getattr(ours, name) != getattr(theirs, name):
                raise ValueError(
                    f"The head of {self.backbone.family or 'bert'!r} differs from that of "
                    f"{facts.name!r} in `{name}`. Received: family={facts.name!r}"
                )

    def _their_values(self) -> dict[str, Any]:
        """Further fields of Hugging Face's `config.json`."""
        return {}

    @classmethod
    def arguments_in(cls, folder) -> dict[str, Any]:
        """Constructor arguments that a foreign folder gives; none if it has no such head."""
        saved = folder.head(cls.task)
        if saved is None:
            return {}
        options = dict(saved.options)
        dropout = options.pop("dropout", None)
        return {
            "dropout": dropout,
            "head_options": options,
            **cls.arguments_of(saved),
        }

    def read_head(self, folder) -> None:
        """Fill what of the head a foreign folder keeps apart from the encoder's weights."""

    @classmethod
    def arguments_of(cls, saved: SavedHead) -> dict[str, Any]:
        """Further constructor arguments that a saved head means."""
        return {}

    @classmethod
    def keeps_head(cls, saved, given) -> bool:
        """Whether a saved head serves the arguments that are given."""
        return True

    @classmethod
    def merge_arguments(cls, saved, given) -> dict[str, Any]:
        """Constructor arguments: what is given wins over what is saved."""
        return {**saved, **given}

    def encode_targets(self, y, examples=None):
        """Labels to the arrays that the loss takes.

        Args:
            y: the labels as people write them, one for each input.
            examples: the tokenized inputs, for tasks whose targets depend on the tokens.
        """
        if isinstance(y, Mapping):
            return {name: np.asarray(labels) for name, labels in y.items()}
        return np.asarray(y)

    def class_weights(self, y, class_weight):
        """The weight of each example by its class."""
        raise ValueError(
            f"`class_weight` needs one class for each example, which `{type(self).__name__}` does "
            "not have. Use `sample_weight` instead."
        )

    def _defaults(self, optimizer, loss, metrics):
        return (
            tuning.optimizer() if optimizer == "auto" else optimizer,
            self._default_loss() if loss == "auto" else loss,
            self._default_metrics() if metrics == "auto" else metrics,
        )

    def _default_metrics(self):
        return None

    def _check_preprocessor(self):
        check_fit(self.backbone, self.preprocessor)

    def get_config(self):
        return {
            **super().get_config(),
            "dropout": self.dropout,
            "head_options": self.head_options,
        }


def _check_can_say(family, task, head: Head, written, config) -> None:
    """Refuse a head that its family's `config.json` cannot describe."""
    plain = family.heads[task]
    read = plain.resolve(config, **plain.read_options(written))
    if read != head:
        differing = [
            f"{field.name}={getattr(head, field.name)!r}"
            for field in dataclasses.fields(head)
            if getattr(head, field.name) != getattr(read, field.name)
        ]
        raise ValueError(
            f"Hugging Face's format of family {family.name!r} cannot say this of the head: "
            f"{', '.join(differing)}. Received: architecture={plain.architecture!r}"
        )


def check_fit(backbone, preprocessor):
    """Refuse a preprocessor that gives ids or lengths that the encoder has no rows for."""
    if not isinstance(backbone, Encoder):
        raise TypeError(
            "`backbone` must be a `kerasbert.Encoder`; a preset's name goes to `from_preset`. "
            f"Received: backbone={backbone!r}"
        )
    if preprocessor is None:
        return
    if not isinstance(preprocessor, TextPreprocessor):
        raise TypeError(
            "`preprocessor` must be None or a preprocessor such as "
            "`TextClassifierPreprocessor(tokenizer)`. "
            f"Received: preprocessor of type {type(preprocessor).__name__}"
        )
    config, tokenizer = backbone.config, preprocessor.tokenizer
    if preprocessor.sequence_length > config.max_sequence_length:
        raise ValueError(
            "The preprocessor's `sequence_length` must not exceed the encoder's "
            f"`max_sequence_length`. Received: {preprocessor.sequence_length} and "
            f"{config.max_sequence_length}"
        )
    if tokenizer.is_loaded and tokenizer.vocabulary_size() > config.vocabulary_size:
        raise ValueError(
            "The tokenizer has more tokens than the encoder has embeddings. "
            f"Received: {tokenizer.vocabulary_size()} and {config.vocabulary_size}"
        )
