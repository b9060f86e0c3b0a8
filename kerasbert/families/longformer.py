"""Longformer (Beltagy et al., 2020, arXiv:2004.05150): RoBERTa with sliding windows and global
tokens that have projections of their own. Sizes: section 5."""

from kerasbert.families import names
from kerasbert.families.bert_layout import EMBEDDING_WEIGHTS, LAYER_WEIGHTS, POOLER_WEIGHTS
from kerasbert.families.config_map import Field
from kerasbert.families.family import Family, Preset
from kerasbert.families.roberta import BASE as ROBERTA_BASE
from kerasbert.families.roberta import CONFIG_FIELDS, heads
from kerasbert.families.roberta import LARGE as ROBERTA_LARGE
from kerasbert.layers import Window

_LONG = {"max_sequence_length": 4096, "attention": Window(width=512, global_tokens=True)}
BASE = ROBERTA_BASE.replace(**_LONG)
LARGE = ROBERTA_LARGE.replace(**_LONG)

_SELF = "encoder.layer.{i}.attention.self"


def _read_window(width, _):
    """One width for all layers where they are the same."""
    if isinstance(width, int):
        return width
    return width[0] if len(set(width)) == 1 else tuple(width)


def _write_window(config):
    width = config.attention.width
    return list(width) if isinstance(width, tuple) else [width] * config.num_layers


LONGFORMER = Family(
    name="longformer",
    prefix="longformer",
    architecture="LongformerModel",
    presets={
        "longformer_base_en": Preset(
            BASE, "hf://allenai/longformer-base-4096", "12 x 768, 4096 tokens, cased"
        ),
        "longformer_large_en": Preset(
            LARGE, "hf://allenai/longformer-large-4096", "24 x 1024, 4096 tokens, cased"
        ),
    },
    # An empty `config.json` keeps some of BERT's values.
    defaults=BASE.replace(
        vocabulary_size=30522, num_segments=2, norm_epsilon=1e-12, max_sequence_length=510
    ),
    config_fields=(
        *CONFIG_FIELDS,
        Field(
            "attention_window",
            "attention.width",
            read=_read_window,
            write=_write_window,
        ),
    ),
    weights=(
        *EMBEDDING_WEIGHTS,
        *LAYER_WEIGHTS,
        *(
            row
            for name in ("query", "key", "value")
            for row in names.dense(f"layer_{{i}}/attention/sparse/{name}", f"{_SELF}.{name}_global")
        ),
        *POOLER_WEIGHTS,
    ),
    heads=heads("Longformer"),
    harmless=frozenset({"attention_mode", "ignore_attention_mask", "onnx_export"}),
)
