"""Google's original TF 1 checkpoints of BERT, ALBERT and ELECTRA: their variables' names.

From the code that was released with them (google-research/bert, /albert, /electra): `modeling.py`
and `run_pretraining.py` of each. All normalise with an epsilon of 1e-12 and write kernels as Keras
does. Names of layers are `layer_{i}`; ALBERT's groups are `group_{group}/inner_group_{inner}`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from kerasbert.families.names import Row


@dataclasses.dataclass(frozen=True)
class GoogleModel:
    """One network in a checkpoint.

    Args:
        family: name of the family that it belongs to, whose `config.json` has the same fields.
        config_file: name of the file that describes it, `None` where none was released.
        gelu: what its code computes for `"hidden_act": "gelu"`, by Hugging Face's name.
        weights: the encoder's variables and their names in the checkpoint.
        heads: likewise the heads', by task.
        others: how the names of further networks in the same checkpoint begin.
    """

    family: str
    config_file: str | None
    gelu: str
    weights: tuple[Row, ...]
    heads: Mapping[str, tuple[Row, ...]]
    others: tuple[str, ...] = ()


def _dense(ours: str, theirs: str) -> tuple[Row, ...]:
    return (Row(f"{ours}/kernel", f"{theirs}/kernel"), Row(f"{ours}/bias", f"{theirs}/bias"))


def _norm(ours: str, theirs: str) -> tuple[Row, ...]:
    return (Row(f"{ours}/gamma", f"{theirs}/gamma"), Row(f"{ours}/beta", f"{theirs}/beta"))


def _embeddings(scope: str) -> tuple[Row, ...]:
    return (
        Row("embeddings/token/embeddings", f"{scope}/word_embeddings"),
        Row("embeddings/position/embeddings", f"{scope}/position_embeddings"),
        Row("embeddings/segment/embeddings", f"{scope}/token_type_embeddings"),
        *_norm("embeddings/norm", f"{scope}/LayerNorm"),
    )


def _layers(scope: str) -> tuple[Row, ...]:
    layer = f"{scope}/encoder/layer_{{i}}"
    return (
        *_dense("layer_{i}/attention/query", f"{layer}/attention/self/query"),
        *_dense("layer_{i}/attention/key", f"{layer}/attention/self/key"),
        *_dense("layer_{i}/attention/value", f"{layer}/attention/self/value"),
        *_dense("layer_{i}/attention/output", f"{layer}/attention/output/dense"),
        *_norm("layer_{i}/attention_norm", f"{layer}/attention/output/LayerNorm"),
        *_dense("layer_{i}/feed_forward/intermediate", f"{layer}/intermediate/dense"),
        *_dense("layer_{i}/feed_forward/output", f"{layer}/output/dense"),
        *_norm("layer_{i}/feed_forward_norm", f"{layer}/output/LayerNorm"),
    )


def _masked_lm(scope: str, transform: str) -> tuple[Row, ...]:
    return (
        *_dense("head/dense", f"{transform}/dense"),
        *_norm("head/norm", f"{transform}/LayerNorm"),
        Row("head/bias", f"{scope}/output_bias"),
    )


_PREDICTIONS = _masked_lm("cls/predictions", "cls/predictions/transform")
_PAIRS = (
    Row("pair_head/output/kernel", "cls/seq_relationship/output_weights", transpose=True),
    Row("pair_head/output/bias", "cls/seq_relationship/output_bias"),
)
_BERT_HEADS = {"masked_lm": _PREDICTIONS, "pretraining": (*_PREDICTIONS, *_PAIRS)}

# The weights were released with code that computes the exact GELU (October 2018). Three months
# later the code, not the weights, changed to the approximation.
BERT = GoogleModel(
    family="bert",
    config_file="bert_config.json",
    gelu="gelu",
    weights=(
        *_embeddings("bert/embeddings"),
        *_layers("bert"),
        *_dense("pooler", "bert/pooler/dense"),
    ),
    heads=_BERT_HEADS,
)

_BLOCK = "bert/encoder/transformer/group_{group}/inner_group_{inner}"
ALBERT = GoogleModel(
    family="albert",
    config_file="albert_config.json",
    gelu="gelu_new",
    weights=(
        *_embeddings("bert/embeddings"),
        *_dense("embeddings/projection", "bert/encoder/embedding_hidden_mapping_in"),
        *_dense("layer_{i}/attention/query", f"{_BLOCK}/attention_1/self/query"),
        *_dense("layer_{i}/attention/key", f"{_BLOCK}/attention_1/self/key"),
        *_dense("layer_{i}/attention/value", f"{_BLOCK}/attention_1/self/value"),
        *_dense("layer_{i}/attention/output", f"{_BLOCK}/attention_1/output/dense"),
        *_norm("layer_{i}/attention_norm", f"{_BLOCK}/LayerNorm"),
        *_dense("layer_{i}/feed_forward/intermediate", f"{_BLOCK}/ffn_1/intermediate/dense"),
        *_dense("layer_{i}/feed_forward/output", f"{_BLOCK}/ffn_1/intermediate/output/dense"),
        *_norm("layer_{i}/feed_forward_norm", f"{_BLOCK}/LayerNorm_1"),
        *_dense("pooler", "bert/pooler/dense"),
    ),
    heads=_BERT_HEADS,
)

# ELECTRA's two networks are in one checkpoint, and share the embeddings.
ELECTRA = GoogleModel(
    family="electra",
    config_file=None,
    gelu="gelu",
    weights=(
        *_embeddings("electra/embeddings"),
        *_dense("embeddings/projection", "electra/embeddings_project"),
        *_layers("electra"),
    ),
    heads={
        "replaced_tokens": (
            *_dense("head/dense", "discriminator_predictions/dense"),
            *_dense("head/output", "discriminator_predictions/dense_1"),
        )
    },
    others=("generator/", "generator_predictions/"),
)
ELECTRA_GENERATOR = GoogleModel(
    family="electra",
    config_file=None,
    gelu="gelu",
    weights=(
        *_embeddings("electra/embeddings"),
        *_dense("embeddings/projection", "generator/embeddings_project"),
        *_layers("generator"),
    ),
    heads={"masked_lm": _masked_lm("generator_predictions", "generator_predictions")},
    others=("electra/", "discriminator_predictions/"),
)

# What a folder holds is told by its configuration's name, or by the checkpoint's variables.
GOOGLE: tuple[GoogleModel, ...] = (BERT, ALBERT, ELECTRA)
CONFIG_FILES = tuple(model.config_file for model in GOOGLE if model.config_file)
