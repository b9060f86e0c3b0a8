"""Reversible maps between a Hugging Face `config.json` and `EncoderConfig`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from kerasbert.layers import EncoderConfig

# Hugging Face's activation names that mean one of ours; the first of each is written.
_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_fast": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
    "tanh": "tanh",
    "sigmoid": "sigmoid",
    "linear": "linear",
}

# Fields of any Hugging Face configuration that leave the encoder's forward pass as it is: book
# keeping, labels and task settings (read by the tasks), text generation, training switches.
_HARMLESS = frozenset(
    """
    _attn_implementation _attn_implementation_autoset _commit_hash _name_or_path _num_labels
    architectures attn_implementation auto_map bad_words_ids begin_suppress_tokens
    bos_token_id chunk_size_feed_forward cls_token_id custom_pipelines decoder_start_token_id
    directionality diversity_penalty do_sample dtype early_stopping encoder_no_repeat_ngram_size
    eos_token_id experts_implementation exponential_decay_length_penalty finetuning_task
    forced_bos_token_id forced_eos_token_id gradient_checkpointing id2label
    is_composition keys_to_ignore_at_inference label2id language length_penalty max_length
    mask_token_id min_length model_name model_type name no_repeat_ngram_size num_beam_groups
    num_beams num_labels num_return_sequences output_attentions output_hidden_states output_past
    output_scores parent pre_trained prefix pretrained_model problem_type
    remove_invalid_values repetition_penalty return_dict return_dict_in_generate sep_token_id
    sentence_transformers suppress_tokens task_specific_params temperature tie_encoder_decoder
    tie_word_embeddings tokenizer_class top_k top_p torch_dtype torchscript training
    transformers.js_config transformers_version typical_p unk_token_id use_bfloat16 use_cache
    """.split()
)

# Fields of any configuration that must have this value, where they are given at all.
_FIXED = {
    "is_decoder": False,  # where no family maps it
    "is_encoder_decoder": False,
    "add_cross_attention": False,
    "cross_attention_hidden_size": None,
    "position_embedding_type": "absolute",
    "pruned_heads": {},
    "quantization_config": None,
}


@dataclasses.dataclass(frozen=True)
class Field:
    """One field of a `config.json`, and where its value stands in `EncoderConfig`.

    Args:
        theirs: the field's name in the file.
        ours: the name in `EncoderConfig`; dotted for a field of a tagged part, as
            `"sharing.groups"`.
        is_activation: whether the value is the name of an activation function.
    """

    theirs: str
    ours: str
    is_activation: bool = False

    def read(self, value, source: str):
        if not self.is_activation:
            return value
        if value not in _ACTIVATIONS:
            raise ValueError(
                f"{source} asks for an activation that is not supported. Supported are "
                f"{sorted(_ACTIVATIONS)}. Received: {self.theirs}={value!r}"
            )
        return _ACTIVATIONS[value]

    def write(self, config: EncoderConfig):
        value = config
        for part in self.ours.split("."):
            value = getattr(value, part)
        if self.is_activation:
            return next(name for name, ours in _ACTIVATIONS.items() if ours == value)
        return value


def fields(**ours_by_theirs: str) -> tuple[Field, ...]:
    """Fields whose values are the same on both sides, as `theirs="ours"`."""
    return tuple(Field(theirs, ours) for theirs, ours in ours_by_theirs.items())


def read_fields(
    values: Mapping[str, Any],
    config_fields: Iterable[Field],
    defaults: EncoderConfig,
    fixed: Mapping[str, Any],
    harmless: frozenset[str],
    *,
    source: str,
) -> EncoderConfig:
    """`defaults` changed by the fields that `values` gives."""
    known = {field.theirs: field for field in config_fields}
    fixed = {**_FIXED, **fixed}
    changes: dict[str, Any] = {}
    for name, value in values.items():
        if name in known and value is not None:
            _set(changes, known[name].ours, known[name].read(value, source), defaults)
        elif name in fixed and value not in (None, fixed[name]):
            raise ValueError(
                f"{source} asks for a computation that is not supported: only "
                f"{name}={fixed[name]!r} is. Received: {name}={value!r}"
            )
        elif not (name in known or name in fixed or name in harmless or name in _HARMLESS):
            _refuse_unknown(name, value, source)
    try:
        return defaults.replace(**changes)
    except ValueError as error:
        raise ValueError(f"{source} does not describe an encoder: {error}") from error


def _set(changes, path, value, defaults):
    name, _, part = path.partition(".")
    if part:
        tagged = changes.get(name, getattr(defaults, name))
        value = dataclasses.replace(tagged, **{part: value})
    changes[name] = value


def _refuse_unknown(name, value, source):
    if value is None:
        return
    raise ValueError(
        f"{source} has a field that is not understood, so the computation that it asks for may "
        f"differ. If it does not change the model, remove it from the file. "
        f"Received: {name}={value!r}"
    )


def write_fields(config: EncoderConfig, config_fields: Iterable[Field]) -> dict[str, Any]:
    """The file's fields with the values that `config` has."""
    return {field.theirs: field.write(config) for field in config_fields}
