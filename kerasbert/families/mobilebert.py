"""MobileBERT (Sun et al., 2020, arXiv:2004.02984): thin blocks between bottlenecks, stacked
feed-forward layers, no layer normalisation, embeddings of three neighbouring tokens. Sizes: table
1."""

from dataclasses import replace

from kerasbert.families import names
from kerasbert.families.bert_layout import (
    CONFIG_FIELDS,
    EMBEDDING_WEIGHTS,
    LAYER_WEIGHTS,
    POOLER_WEIGHTS,
    heads,
)
from kerasbert.families.config_map import Field, fields
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Option
from kerasbert.families.names import Row
from kerasbert.layers import Bottleneck, EncoderConfig

BASE = EncoderConfig(
    num_layers=24,
    num_heads=4,
    hidden_dim=512,
    intermediate_dim=512,
    embedding_dim=128,
    trigram=True,
    activation="relu",
    norm="affine",
    hidden_dropout=0.0,
    bottleneck=Bottleneck(dim=128, feed_forwards=4, attention_input="shared"),
)

_LAYER = "encoder.layer.{i}"
_POOLED = {
    "dense": None,  # unless `classifier_activation` says that there is a pooler
    "options": (
        Option("classifier_dropout", "dropout"),
        Option("classifier_activation", "dense", {True: "tanh", False: None}),
    ),
}
_WIDE_DECODER = Row("head/decoder", "cls.predictions.dense.weight", prefixed=False)


def _read_attention_input(in_block, values):
    if not in_block and not values["key_query_shared_bottleneck"]:
        raise ValueError("Attention must read from a bottleneck, its own or the block's.")
    return "block" if in_block else "shared"


def _read_norm(kind, values):
    if kind == "layer_norm" and values["layer_norm_eps"] != 1e-5:
        raise ValueError(
            "transformers' layer norms of a MobileBERT have an epsilon of 1e-5 in part, whatever "
            f"the configuration says. Received: layer_norm_eps={values['layer_norm_eps']}"
        )
    return {"no_norm": "affine", "layer_norm": "layer"}[kind]


def _heads():
    changes = {"classifier": _POOLED, "multiple_choice": _POOLED}
    for task in ("masked_lm", "pretraining"):
        weights = (*heads("MobileBert")[task].weights, _WIDE_DECODER)
        changes[task] = {"weights": weights, "widens_tokens": True}
    return {
        task: replace(head, **changes.get(task, {})) for task, head in heads("MobileBert").items()
    }


MOBILEBERT = Family(
    name="mobilebert",
    prefix="mobilebert",
    architecture="MobileBertModel",
    presets={
        "mobile_bert_en_uncased": Preset(
            BASE, "hf://google/mobilebert-uncased", "24 x 512, uncased"
        ),
    },
    defaults=BASE,
    config_fields=(
        *CONFIG_FIELDS,
        *fields(
            embedding_size="embedding_dim",
            trigram_input="trigram",
            intra_bottleneck_size="bottleneck.dim",
            num_feedforward_networks="bottleneck.feed_forwards",
        ),
        Field(
            "normalization_type",
            "norm",
            read=_read_norm,
            write=lambda config: {"affine": "no_norm", "layer": "layer_norm"}[config.norm],
        ),
        Field(
            "use_bottleneck_attention",
            "bottleneck.attention_input",
            read=_read_attention_input,
            write=lambda config: config.bottleneck.attention_input == "block",
        ),
        # Where attention reads from the block's bottleneck, the shared one is there, unused.
        Field(
            "key_query_shared_bottleneck",
            None,
            write=lambda config: config.bottleneck.attention_input == "shared",
        ),
        Field(
            "classifier_activation",
            "pooler",
            read=lambda used, _: "tanh" if used else None,
            write=lambda config: config.pooler is not None,
        ),
    ),
    weights=(
        *EMBEDDING_WEIGHTS,
        *names.dense("embeddings/projection", "embeddings.embedding_transformation"),
        *LAYER_WEIGHTS,
        *names.dense("layer_{i}/bottleneck/input", f"{_LAYER}.bottleneck.input.dense"),
        *names.norm("layer_{i}/bottleneck/input_norm", f"{_LAYER}.bottleneck.input.LayerNorm"),
        *names.dense("layer_{i}/bottleneck/attention", f"{_LAYER}.bottleneck.attention.dense"),
        *names.norm(
            "layer_{i}/bottleneck/attention_norm", f"{_LAYER}.bottleneck.attention.LayerNorm"
        ),
        *names.dense("layer_{i}/bottleneck/output", f"{_LAYER}.output.bottleneck.dense"),
        *names.norm("layer_{i}/bottleneck/output_norm", f"{_LAYER}.output.bottleneck.LayerNorm"),
        *names.dense(
            "layer_{i}/feed_forward_{j}/intermediate", f"{_LAYER}.ffn.{{j}}.intermediate.dense"
        ),
        *names.dense("layer_{i}/feed_forward_{j}/output", f"{_LAYER}.ffn.{{j}}.output.dense"),
        *names.norm("layer_{i}/feed_forward_{j}_norm", f"{_LAYER}.ffn.{{j}}.output.LayerNorm"),
        *POOLER_WEIGHTS,
    ),
    heads=_heads(),
    fixed={"use_bottleneck": True},
    harmless=frozenset({"true_hidden_size"}),
)
