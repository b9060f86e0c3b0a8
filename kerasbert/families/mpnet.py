"""MPNet (Song et al., 2020, arXiv:2004.09297): RoBERTa's positions and one relative position bias
that all layers share."""

from kerasbert.families import names
from kerasbert.families.bert_layout import (
    CONFIG_FIELDS,
    EMBEDDING_WEIGHTS,
    FEED_FORWARD_WEIGHTS,
    POOLER_WEIGHTS,
)
from kerasbert.families.config_map import Field
from kerasbert.families.family import Family, Preset
from kerasbert.families.roberta import BASE as ROBERTA_BASE
from kerasbert.families.roberta import heads
from kerasbert.layers import RelativeBias

BASE = ROBERTA_BASE.replace(
    vocabulary_size=30527,
    num_segments=0,
    position=RelativeBias(buckets=32, max_distance=128, absolute=ROBERTA_BASE.position),
)

_NOT_THERE = ("max_position_embeddings", "type_vocab_size")
_ATTENTION = "encoder.layer.{i}.attention"

MPNET = Family(
    name="mpnet",
    prefix="mpnet",
    architecture="MPNetModel",
    presets={
        "mpnet_base_en_uncased": Preset(BASE, "hf://microsoft/mpnet-base", "12 x 768, uncased"),
    },
    defaults=BASE.replace(norm_epsilon=1e-12, max_sequence_length=510),
    config_fields=(
        *(field for field in CONFIG_FIELDS if field.theirs not in _NOT_THERE),
        # The rows before the first position are two, whatever the padding id is.
        Field(
            "max_position_embeddings",
            "max_sequence_length",
            read=lambda rows, _: rows - 2,
            write=lambda config: config.max_sequence_length + 2,
        ),
    ),
    weights=(
        *EMBEDDING_WEIGHTS,
        *names.embedding("relative_positions/bias", "encoder.relative_attention_bias"),
        *names.dense("layer_{i}/attention/query", f"{_ATTENTION}.attn.q"),
        *names.dense("layer_{i}/attention/key", f"{_ATTENTION}.attn.k"),
        *names.dense("layer_{i}/attention/value", f"{_ATTENTION}.attn.v"),
        *names.dense("layer_{i}/attention/output", f"{_ATTENTION}.attn.o"),
        *names.norm("layer_{i}/attention_norm", f"{_ATTENTION}.LayerNorm"),
        *FEED_FORWARD_WEIGHTS,
        *POOLER_WEIGHTS,
    ),
    heads=heads("MPNet", dropout_options=()),
    fixed={"relative_attention_num_buckets": 32},  # transformers computes 32, whatever it says
)
