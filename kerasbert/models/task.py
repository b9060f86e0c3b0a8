"""What all tasks share: named inputs, fitting on raw input, presets."""

from __future__ import annotations

import keras_hub

from kerasbert.checkpoints.sources import resolve
from kerasbert.models.encoder import Encoder
from kerasbert.models.fitting import Fitting
from kerasbert.models.loading import load_task
from kerasbert.models.named_inputs import NamedInputs
from kerasbert.models.saving import write_task


class EncoderTask(NamedInputs, Fitting, keras_hub.models.Task):
    """Base class of the tasks: an `Encoder`, a head, and a preprocessor for the raw input.

    A subclass builds its functional model in its constructor. It provides what fitting asks for
    (`encode_targets`, `class_weights`, `_defaults`) and what loading asks for (`preprocessor_cls`,
    `arguments_in`, `keeps_head`, `merge_arguments`).
    """

    backbone_cls = Encoder

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Load a task, or an encoder with a new head.

        Args:
            preset: a built-in name (`kerasbert.list_presets()`), a folder written by
                `save_to_preset` or by transformers, or an `hf://` or `kaggle://` handle.
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
