"""DeBERTa v2 and v3 (He et al., 2021, arXiv:2111.09543): buckets of distances, projections that
content and positions share, a convolution beside v2's first layer; v3 is trained as ELECTRA is.
Sizes as released."""

from kerasbert.families import names
from kerasbert.families.bert_layout import CONFIG_FIELDS, EMBEDDING_WEIGHTS
from kerasbert.families.config_map import Field, fields, read_activation, write_activation
from kerasbert.families.deberta import BASE as V1_BASE
from kerasbert.families.deberta import (
    HARMLESS,
    OUTPUT_WEIGHTS,
    POSITION_FIELDS,
    TABLE_WEIGHTS,
    heads,
    with_absolute_positions,
)
from kerasbert.families.family import Family, Preset
from kerasbert.layers import Convolution, Disentangled

BASE = V1_BASE.replace(vocabulary_size=128100, position=Disentangled(buckets=256))
LARGE = BASE.replace(num_layers=24, num_heads=16, hidden_dim=1024, intermediate_dim=4096)
V2_XLARGE = BASE.replace(
    num_layers=24,
    num_heads=24,
    hidden_dim=1536,
    intermediate_dim=6144,
    convolution=Convolution(kernel_size=3, activation="gelu"),
)


def _read_convolution(kernel_size, values):
    if kernel_size <= 0:
        return None
    activation = read_activation("conv_act", values["conv_act"])
    return Convolution(kernel_size, values["conv_groups"], activation)


def _of_convolution(config):
    return config.convolution or Convolution()


CONVOLUTION_FIELDS = (
    Field(
        "conv_kernel_size",
        "convolution",
        read=_read_convolution,
        write=lambda config: config.convolution.kernel_size if config.convolution else 0,
    ),
    Field("conv_groups", None, write=lambda config: _of_convolution(config).groups),
    Field(
        "conv_act",
        None,
        write=lambda config: write_activation(_of_convolution(config).activation),
    ),
)

_ATTENTION = "encoder.layer.{i}.attention.self"

DEBERTA_V2 = Family(
    name="deberta-v2",
    prefix="deberta",
    architecture="DebertaV2Model",
    presets={
        "deberta_v2_extra_large_en": Preset(
            V2_XLARGE, "hf://microsoft/deberta-v2-xlarge", "24 x 1536, cased"
        ),
        "deberta_v2_extra_extra_large_en": Preset(
            V2_XLARGE.replace(num_layers=48),
            "hf://microsoft/deberta-v2-xxlarge",
            "48 x 1536, cased",
        ),
        "deberta_v3_extra_small_en": Preset(
            BASE.replace(num_heads=6, hidden_dim=384, intermediate_dim=1536),
            "hf://microsoft/deberta-v3-xsmall",
            "12 x 384, cased",
        ),
        "deberta_v3_small_en": Preset(
            BASE.replace(num_layers=6), "hf://microsoft/deberta-v3-small", "6 x 768, cased"
        ),
        "deberta_v3_base_en": Preset(BASE, "hf://microsoft/deberta-v3-base", "12 x 768, cased"),
        "deberta_v3_large_en": Preset(LARGE, "hf://microsoft/deberta-v3-large", "24 x 1024, cased"),
        "deberta_v3_base_multi": Preset(
            BASE.replace(vocabulary_size=251000),
            "hf://microsoft/mdeberta-v3-base",
            "12 x 768, 102 languages, cased",
        ),
    },
    defaults=with_absolute_positions(
        V2_XLARGE.replace(
            position=Disentangled(buckets=None, shared_projections=False, normalize=False),
            convolution=None,
        )
    ),
    config_fields=(
        *CONFIG_FIELDS,
        *POSITION_FIELDS,
        *fields(share_att_key="position.shared_projections"),
        Field(
            "position_buckets",
            "position.buckets",
            read=lambda buckets, _: buckets if buckets > 0 else None,
            write=lambda config: config.position.buckets or -1,
        ),
        Field(
            "norm_rel_ebd",
            "position.normalize",
            read=lambda kinds, _: "layer_norm" in kinds.lower().replace(" ", "").split("|"),
            write=lambda config: "layer_norm" if config.position.normalize else "none",
        ),
        *CONVOLUTION_FIELDS,
        Field(
            "attention_head_size",
            "num_heads",
            read=lambda size, values: values["hidden_size"] // size,
            is_old=True,
        ),
    ),
    weights=(
        *EMBEDDING_WEIGHTS,
        *TABLE_WEIGHTS,
        *names.norm("relative_positions/norm", "encoder.LayerNorm"),
        *names.dense("layer_{i}/attention/query", f"{_ATTENTION}.query_proj"),
        *names.dense("layer_{i}/attention/key", f"{_ATTENTION}.key_proj"),
        *names.dense("layer_{i}/attention/value", f"{_ATTENTION}.value_proj"),
        *names.dense("layer_{i}/attention/position_key", f"{_ATTENTION}.pos_key_proj"),
        *names.dense("layer_{i}/attention/position_query", f"{_ATTENTION}.pos_query_proj"),
        *OUTPUT_WEIGHTS,
        *names.dense("layer_0/convolution/convolution", "encoder.conv.conv"),
        *names.norm("layer_0/convolution/norm", "encoder.conv.LayerNorm"),
    ),
    heads=heads("DebertaV2"),
    fixed={"relative_attention": True},
    harmless=HARMLESS,
)
