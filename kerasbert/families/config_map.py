"""Reversible maps between a Hugging Face `config.json` and `EncoderConfig`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
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

    Two fields may stand for one of ours (their values must then agree) and one field for several.

    Args:
        theirs: the field's name in the file.
        ours: the name in `EncoderConfig`; dotted for a field of a tagged part, as
            `"sharing.groups"`; `None` for a field that only helps another one's `read`.
        read: from their value, and all values of the file completed by the family's defaults, to
            ours; `None` where they are the same.
        write: from an `EncoderConfig` to their value; `None` where it is the value of `ours`.
        is_old: whether only older files have the field, so that it is read and never written.
    """

    theirs: str
    ours: str | None
    read: Callable[[Any, Mapping[str, Any]], Any] | None = None
    write: Callable[[EncoderConfig], Any] | None = None
    is_old: bool = False

    def to_ours(self, values: Mapping[str, Any]):
        value = values[self.theirs]
        return value if self.read is None else self.read(value, values)

    def to_theirs(self, config: EncoderConfig):
        return get_path(config, self.ours) if self.write is None else self.write(config)


def get_path(config: EncoderConfig, path: str):
    """The value of a dotted field."""
    value = config
    for part in path.split("."):
        value = getattr(value, part)
    return value


def fields(**ours_by_theirs: str) -> tuple[Field, ...]:
    """Fields whose values are the same on both sides, as `theirs="ours"`."""
    return tuple(Field(theirs, ours) for theirs, ours in ours_by_theirs.items())


def activation(theirs: str, ours: str) -> Field:
    """A field that holds the name of an activation function."""
    return Field(
        theirs,
        ours,
        read=lambda value, _: read_activation(theirs, value),
        write=lambda config: write_activation(get_path(config, ours)),
    )


def read_activation(field: str, value: str) -> str:
    """Our name of the activation function that they call `value`."""
    if value not in _ACTIVATIONS:
        raise ValueError(
            "This activation is not supported. Supported are "
            f"{sorted(_ACTIVATIONS)}. Received: {field}={value!r}"
        )
    return _ACTIVATIONS[value]


def write_activation(value: str) -> str:
    """Their name of an activation function of ours."""
    return next(name for name, ours in _ACTIVATIONS.items() if ours == value)


def read_fields(
    values: Mapping[str, Any],
    config_fields: tuple[Field, ...],
    defaults: EncoderConfig,
    fixed: Mapping[str, Any],
    harmless: frozenset[str],
    *,
    source: str,
) -> EncoderConfig:
    """`defaults` changed by the fields that `values` gives."""
    given = {name: value for name, value in values.items() if value is not None}
    known = {field.theirs for field in config_fields}
    _refuse_what_is_not_understood(given, known, {**_FIXED, **fixed}, harmless, source)
    try:
        completed = {**write_fields(defaults, config_fields), **given}
        changes = _read_given(given, completed, config_fields)
        for field in config_fields:  # of the rest, some follow from what is given
            if field.ours is not None and field.ours not in changes and not field.is_old:
                changes[field.ours] = field.to_ours(completed)
        return _replace(defaults, changes)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{source} does not describe an encoder: {error}") from error


def _read_given(given, completed, config_fields):
    changes: dict[str, Any] = {}
    named_by: dict[str, str] = {}
    for field in config_fields:
        if field.theirs not in given or field.ours is None:
            continue
        value = field.to_ours(completed)
        if field.ours in changes and changes[field.ours] != value:
            first = named_by[field.ours]
            raise ValueError(
                f"`{first}` and `{field.theirs}` must agree here. Received: "
                f"{first}={given[first]!r}, {field.theirs}={given[field.theirs]!r}"
            )
        changes[field.ours] = value
        named_by[field.ours] = field.theirs
    return changes


def _replace(part, changes):
    """A dataclass with the changes, by dotted path, of its fields and of its parts' fields."""
    direct = {path: value for path, value in changes.items() if "." not in path}
    deeper: dict[str, dict[str, Any]] = {}
    for path, value in changes.items():
        name, _, rest = path.partition(".")
        if rest:
            deeper.setdefault(name, {})[rest] = value
    for name, inner in deeper.items():
        direct[name] = _replace(direct.get(name, getattr(part, name)), inner)
    return dataclasses.replace(part, **direct)


def _refuse_what_is_not_understood(given, known, fixed, harmless, source):
    for name, value in given.items():
        if name in known:
            continue
        if name in fixed:
            if value != fixed[name]:
                raise ValueError(
                    f"{source} asks for a computation that is not supported: only "
                    f"{name}={fixed[name]!r} is. Received: {name}={value!r}"
                )
        elif name not in harmless and name not in _HARMLESS:
            raise ValueError(
                f"{source} has a field that is not understood, so the computation that it asks "
                "for may differ. If it does not change the model, remove it from the file. "
                f"Received: {name}={value!r}"
            )


def write_fields(config: EncoderConfig, config_fields: Iterable[Field]) -> dict[str, Any]:
    """The file's fields with the values that `config` has."""
    return {field.theirs: field.to_theirs(config) for field in config_fields if not field.is_old}
