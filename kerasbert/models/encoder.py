"""The encoder: one definition for every architecture of the family."""

from __future__ import annotations

import keras
import keras_hub
from keras import ops

from kerasbert.checkpoints.sources import resolve
from kerasbert.families import get_family
from kerasbert.layers import (
    AttentionMask,
    Embeddings,
    EncoderBlock,
    EncoderConfig,
    PromptSlot,
    block_order,
    num_blocks,
    trace,
)
from kerasbert.layers.initializing import dense, norm
from kerasbert.models.loading import load_encoder
from kerasbert.models.named_inputs import NamedInputs, token_inputs
from kerasbert.models.saving import export_encoder, write_encoder
from kerasbert.tuning.additions import read_additions
from kerasbert.tuning.low_rank import lora


def _shared_context(config, inputs, dtype) -> dict:
    """What all blocks share besides the states: masks and, for some kinds of them, positions."""
    padding_mask = inputs["padding_mask"]
    mask = AttentionMask(config.causal, dtype=dtype, name="attention_mask")
    context = {"attention_mask": mask(padding_mask), "padding_mask": padding_mask}
    if "global_mask" in inputs:
        context["global_mask"] = inputs["global_mask"]
    positions = config.position.shared_layer(config, dtype=dtype)
    if positions is not None:
        context["positions"] = positions(padding_mask)
    return context


def _blocks(config, dtype) -> list[EncoderBlock]:
    """The block of each step of the stack; shared blocks stand there several times."""
    blocks = [
        EncoderBlock(config, index, dtype=dtype, name=f"layer_{index}")
        for index in range(num_blocks(config))
    ]
    return [blocks[index] for index in block_order(config)]


_COMBINE = {
    "concat": lambda states: ops.concatenate(states, axis=-1),
    "sum": lambda states: ops.sum(ops.stack(states), axis=0),
    "mean": lambda states: ops.mean(ops.stack(states), axis=0),
    "stack": lambda states: ops.stack(states, axis=1),
}


@keras.saving.register_keras_serializable(package="kerasbert")
class Encoder(NamedInputs, keras_hub.models.Backbone):
    """A Transformer encoder of the BERT family.

    It is called on a dict of integer arrays, each (batch, length): `token_ids`, `padding_mask` (1 =
    real token, 0 = padding) and, if the configuration has segments, `segment_ids`. Other entries
    are ignored. It returns a dict: `sequence_output` (batch, length, hidden_dim) and, if the
    configuration has a pooler, `pooled_output` (batch, hidden_dim), in the compute dtype.

    Args:
        config: an `EncoderConfig`, or the dict that its `to_dict` gives.
        family: name of the family that decides head layouts and export names, such as `"bert"`;
            set by presets and loaders. `None` is treated as BERT.
        dtype: a Keras dtype or dtype policy, such as `"bfloat16"` or `"mixed_float16"`; `None` for
            Keras's default.
        name: name of the model.
        trainable: whether its weights are trained.
        additions: what `kerasbert.tuning` added (LoRA, adapters, prompts, prefixes), as
            `get_config` gives it.

    Raises:
        ValueError: on a call with inputs that are missing, not in a dict, or longer than
            `config.max_sequence_length`.

    Example:

    ```python
    import numpy as np
    import kerasbert

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    encoder = kerasbert.Encoder(config)
    ids = np.array([[101, 7592, 102, 0]], "int32")
    outputs = encoder({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids != 0})
    assert outputs["sequence_output"].shape == (1, 4, 32)
    ```
    """

    def __init__(self, config, family=None, dtype=None, name=None, trainable=True, additions=()):
        config = EncoderConfig.from_dict(config) if isinstance(config, dict) else config
        if not isinstance(config, EncoderConfig):
            raise TypeError(
                "`config` must be an `EncoderConfig`; a preset's name goes to "
                f"`Encoder.from_preset`. Received: config={config!r}"
            )
        get_family(family)  # refuses an unknown name
        inputs = token_inputs(config)
        embed = Embeddings(config, dtype=dtype, name="embeddings")
        x = embed(**{name: inputs[name] for name in inputs if name != "global_mask"})
        prompt_slot = PromptSlot()
        x, padding_mask = prompt_slot(x, inputs["padding_mask"])
        context = _shared_context(config, {**inputs, "padding_mask": padding_mask}, dtype)
        blocks = _blocks(config, dtype)
        for block in blocks[:-1]:
            x = block(x, context)
        last_block_inputs = x, context
        x = blocks[-1](x, context)
        if config.norm_placement == "pre":
            x = norm(config, name="final_norm", dtype=dtype)(x)
        x = prompt_slot(x)
        outputs = {"sequence_output": x}
        if config.pooler is not None:
            pool = dense(
                config,
                config.hidden_dim,
                name="pooler",
                activation=config.pooler,
                use_bias=True,
                dtype=dtype,
            )
            outputs["pooled_output"] = pool(x[:, 0, :])

        super().__init__(inputs=inputs, outputs=outputs, dtype=dtype, name=name)
        self.input_names = tuple(inputs)
        self.config = config
        self.family = family
        self.token_embedding = embed.token
        self.last_block, self.last_block_inputs = blocks[-1], last_block_inputs
        self.pooler_is_read = True  # until a task freezes it
        self.prompt_slot = prompt_slot
        self.additions = ()
        for addition in read_additions(additions):
            addition.add_to(self)
        if not trainable:
            self.trainable = False

    def features(self, inputs, layers=(-4, -3, -2, -1), combine="concat", training=False):
        """Hidden states of several layers as features (Devlin et al., 2018, section 5.3).

        Args:
            inputs: the input dict, as for a call.
            layers: indices into the hidden states: 0 are the embeddings, 1 is the output of the
                first layer, -1 of the last. In the order given.
            combine: `"concat"` gives (batch, length, len(layers) * hidden_dim), `"sum"` and
                `"mean"` (batch, length, hidden_dim), `"stack"` (batch, len(layers), length,
                hidden_dim).
            training: whether dropout is active.

        Returns:
            One tensor in the compute dtype.

        Raises:
            ValueError: for an unknown `combine` or a layer that the encoder does not have.
        """
        if combine not in _COMBINE:
            raise ValueError(
                f"`combine` must be one of {sorted(_COMBINE)}. Received: combine={combine!r}"
            )
        count = len(block_order(self.config)) + 1
        if not layers or any(not -count <= layer < count for layer in layers):
            raise ValueError(
                f"`layers` must hold indices from {-count} to {count - 1}: the encoder has "
                f"{count} hidden states. Received: layers={layers}"
            )
        with trace("hidden_states") as record:
            self(inputs, training=training)
        embedded, *states = record["hidden_states"]
        states = [embedded, *map(self.prompt_slot, states)]  # without soft prompts
        return _COMBINE[combine]([states[layer] for layer in layers])

    @classmethod
    def from_preset(cls, preset, load_weights=True, **kwargs):
        """Load an encoder.

        Args:
            preset: a built-in name (`kerasbert.list_presets()`), a folder written by
                `save_to_preset` (of an encoder or a task) or by transformers, or an `hf://` or
                `kaggle://` handle.
            load_weights: `False` for the architecture alone, randomly initialised; a built-in
                preset then needs no network.
            **kwargs: `dtype` and `name`.

        Returns:
            An `Encoder`.

        Raises:
            ValueError: for an unknown preset, or files that are broken or do not fit.
        """
        return load_encoder(cls, resolve(preset, load_weights), load_weights, kwargs)

    def save_to_preset(self, preset_dir, max_shard_size=None):
        """Write the encoder as a preset folder, which `from_preset` reads on any backend.

        Args:
            preset_dir: the folder; files are written under temporary names and then renamed.
            max_shard_size: ignored, taken for compatibility with KerasHub.
        """
        write_encoder(self, preset_dir)

    def export_to_transformers(self, folder, family=None):
        """Write `config.json` and `model.safetensors` as transformers reads them.

        Args:
            folder: where to write.
            family: the family whose layout to write; `None` for the encoder's own, or the only one
                that can represent its configuration.

        Raises:
            ValueError: if no family, or several, can represent the configuration.
        """
        export_encoder(self, folder, family)

    def get_config(self):
        config = {
            **super().get_config(),
            "config": self.config.to_dict(),
            "family": self.family,
        }
        if self.additions:
            config["additions"] = [addition.to_dict() for addition in self.additions]
        return config

    def enable_lora(self, rank, target_layer_names=None):
        """KerasHub's name for `kerasbert.tuning.lora`; it targets `query` and `value`."""
        lora(self, rank, targets=target_layer_names or ("query", "value"))
