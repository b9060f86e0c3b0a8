"""DeBERTa (He et al., 2020, arXiv:2006.03654): attention that keeps content and relative positions
apart. Sizes as released."""

import dataclasses
from dataclasses import replace

from kerasbert.families import names
from kerasbert.families.bert_layout import (
    ANSWER_WEIGHTS,
    CLASSIFIER_WEIGHTS,
    CONFIG_FIELDS,
    EMBEDDING_WEIGHTS,
    FEED_FORWARD_WEIGHTS,
    MASKED_LM_WEIGHTS,
    TIED_DECODER,
)
from kerasbert.families.config_map import Field
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head, Option
from kerasbert.families.names import Part, Row
from kerasbert.layers import Absolute, Disentangled, EncoderConfig

BASE = EncoderConfig(
    vocabulary_size=50265,
    num_segments=0,
    norm_epsilon=1e-7,
    pooler=None,
    position=Disentangled(
        buckets=None, shared_projections=False, normalize=False, key_bias=False, absolute=None
    ),
)
LARGE = BASE.replace(num_layers=24, num_heads=16, hidden_dim=1024, intermediate_dim=4096)


def with_absolute_positions(config: EncoderConfig) -> EncoderConfig:
    """What a `config.json` without `position_biased_input` means."""
    return config.replace(position=dataclasses.replace(config.position, absolute=Absolute()))


def _read_terms(terms, _):
    return tuple(terms.lower().replace(" ", "").split("|") if isinstance(terms, str) else terms)


POSITION_FIELDS = (
    Field(
        "pos_att_type",
        "position.terms",
        read=_read_terms,
        write=lambda config: list(config.position.terms),
    ),
    Field(
        "max_relative_positions",
        "position.max_distance",
        read=lambda distance, _: distance if distance > 0 else None,
        write=lambda config: config.position.max_distance or -1,
    ),
    Field(
        "position_biased_input",
        "position.absolute",
        read=lambda is_there, _: Absolute() if is_there else None,
        write=lambda config: config.position.absolute is not None,
    ),
    # What makes other models of these is not supported.
    Field("embedding_size", "hidden_dim", is_old=True),
    Field("pooler_hidden_size", "hidden_dim", is_old=True),
)
HARMLESS = frozenset({"padding_idx", "legacy", "pooler"})


def _released(row):
    """The released files, and transformers with `legacy=False`, have names of their own."""
    stem = row.theirs.removeprefix("cls.predictions.").removeprefix("transform.")
    return replace(row, also=(f"lm_predictions.lm_head.{stem}",))


def heads(prefix: str) -> dict[str, Head]:
    """DeBERTa's heads, under class names that start with `prefix`."""
    pooled = {
        "weights": (
            *names.dense("head/dense", "pooler.dense", prefixed=False),
            *CLASSIFIER_WEIGHTS,
        ),
        "pool": "first",
        "dense": "gelu",
        "dropout": "hidden",
        "options": (
            Option("pooler_dropout", "input_dropout"),
            Option("pooler_hidden_act", "dense"),
            Option("cls_dropout", "dropout"),
        ),
    }
    return {
        "classifier": Head(f"{prefix}ForSequenceClassification", **pooled),
        "token_classifier": Head(
            f"{prefix}ForTokenClassification", weights=CLASSIFIER_WEIGHTS, dropout="hidden"
        ),
        "question_answerer": Head(f"{prefix}ForQuestionAnswering", weights=ANSWER_WEIGHTS),
        "masked_lm": Head(
            f"{prefix}ForMaskedLM",
            weights=tuple(_released(row) for row in MASKED_LM_WEIGHTS),
            dense="encoder",
            norm=True,
            tied=TIED_DECODER,
        ),
        "multiple_choice": Head(f"{prefix}ForMultipleChoice", **pooled),
    }


_LAYER = "encoder.layer.{i}"
_ATTENTION = f"{_LAYER}.attention.self"

OUTPUT_WEIGHTS = (
    *names.dense("layer_{i}/attention/output", f"{_LAYER}.attention.output.dense"),
    *names.norm("layer_{i}/attention_norm", f"{_LAYER}.attention.output.LayerNorm"),
    *FEED_FORWARD_WEIGHTS,
)
TABLE_WEIGHTS = names.embedding("relative_positions/table", "encoder.rel_embeddings")


def _in_proj(name, index):
    """The rows of each head's query, key and value stand together."""
    part = Part(index, 3, heads=0)
    return Row(
        f"layer_{{i}}/attention/{name}/kernel", f"{_ATTENTION}.in_proj.weight", True, part=part
    )


DEBERTA = Family(
    name="deberta",
    prefix="deberta",
    architecture="DebertaModel",
    presets={
        "deberta_base_en": Preset(BASE, "hf://microsoft/deberta-base", "12 x 768, cased"),
        "deberta_large_en": Preset(LARGE, "hf://microsoft/deberta-large", "24 x 1024, cased"),
        "deberta_extra_large_en": Preset(
            LARGE.replace(num_layers=48), "hf://microsoft/deberta-xlarge", "48 x 1024, cased"
        ),
    },
    defaults=with_absolute_positions(BASE),
    config_fields=(*CONFIG_FIELDS, *POSITION_FIELDS),
    weights=(
        *EMBEDDING_WEIGHTS,
        *TABLE_WEIGHTS,
        _in_proj("query", 0),
        _in_proj("key", 1),
        _in_proj("value", 2),
        Row("layer_{i}/attention/query/bias", f"{_ATTENTION}.q_bias"),
        Row("layer_{i}/attention/value/bias", f"{_ATTENTION}.v_bias"),
        Row("layer_{i}/attention/position_key/kernel", f"{_ATTENTION}.pos_proj.weight", True),
        *names.dense("layer_{i}/attention/position_query", f"{_ATTENTION}.pos_q_proj"),
        *OUTPUT_WEIGHTS,
    ),
    heads={task: head for task, head in heads("Deberta").items() if task != "multiple_choice"},
    fixed={"relative_attention": True, "talking_head": False},
    harmless=HARMLESS | {"attention_head_size"},
)
