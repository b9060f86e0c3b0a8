"""ALBERT v2 (Lan et al., 2019, arXiv:1909.11942): factorized embeddings and one layer shared by the
whole stack (section 3.1); sizes in table 1, without dropout as section 4.9 recommends."""

from kerasbert.families import names
from kerasbert.families.bert_layout import (
    ANSWER_WEIGHTS,
    CLASSIFIER_WEIGHTS,
    CONFIG_FIELDS,
    EMBEDDING_WEIGHTS,
)
from kerasbert.families.config_map import fields
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head, Option
from kerasbert.families.names import Row
from kerasbert.layers import EncoderConfig, Sharing


def _size(num_layers, hidden_dim, num_heads):
    return EncoderConfig(
        vocabulary_size=30000,
        num_layers=num_layers,
        num_heads=num_heads,
        hidden_dim=hidden_dim,
        intermediate_dim=4 * hidden_dim,
        embedding_dim=128,
        activation="gelu_tanh",
        hidden_dropout=0.0,
        attention_dropout=0.0,
        sharing=Sharing(groups=1, layers_per_group=1),
    )


XXLARGE = _size(12, 4096, 64)

_CLASSIFIER = {
    "weights": (*names.dense("head/dense", "pooler"), *CLASSIFIER_WEIGHTS),
    "pool": "pooled",
    "dense": "tanh",
    "dropout": 0.1,
    "has_pooler": True,
    "options": (Option("classifier_dropout_prob", "dropout"),),
}
_MASKED_LM_WEIGHTS = (
    *names.dense("head/dense", "predictions.dense", prefixed=False),
    *names.norm("head/norm", "predictions.LayerNorm", prefixed=False),
    Row("head/bias", "predictions.bias", prefixed=False),
)
_MASKED_LM = {
    "dense": "encoder",
    "norm": True,
    "tied": (
        Row("embeddings/token/embeddings", "predictions.decoder.weight", prefixed=False),
        Row("head/bias", "predictions.decoder.bias", prefixed=False),
    ),
}

_LAYER = "encoder.albert_layer_groups.{group}.albert_layers.{inner}"

ALBERT = Family(
    name="albert",
    prefix="albert",
    architecture="AlbertModel",
    presets={
        "albert_base_en_uncased": Preset(
            _size(12, 768, 12), "hf://albert/albert-base-v2", "12 shared layers x 768"
        ),
        "albert_large_en_uncased": Preset(
            _size(24, 1024, 16), "hf://albert/albert-large-v2", "24 shared layers x 1024"
        ),
        "albert_extra_large_en_uncased": Preset(
            _size(24, 2048, 16), "hf://albert/albert-xlarge-v2", "24 shared layers x 2048"
        ),
        "albert_extra_extra_large_en_uncased": Preset(
            XXLARGE, "hf://albert/albert-xxlarge-v2", "12 shared layers x 4096"
        ),
    },
    defaults=XXLARGE,
    config_fields=(
        *CONFIG_FIELDS,
        *fields(
            embedding_size="embedding_dim",
            num_hidden_groups="sharing.groups",
            inner_group_num="sharing.layers_per_group",
        ),
    ),
    harmless=frozenset(
        {
            "down_scale_factor",
            "gap_size",
            "net_structure_type",
            "num_memory_blocks",
            "layers_to_keep",
        }
    ),
    weights=(
        *EMBEDDING_WEIGHTS,
        *names.dense("embeddings/projection", "encoder.embedding_hidden_mapping_in"),
        *names.dense("layer_{i}/attention/query", f"{_LAYER}.attention.query"),
        *names.dense("layer_{i}/attention/key", f"{_LAYER}.attention.key"),
        *names.dense("layer_{i}/attention/value", f"{_LAYER}.attention.value"),
        *names.dense("layer_{i}/attention/output", f"{_LAYER}.attention.dense"),
        *names.norm("layer_{i}/attention_norm", f"{_LAYER}.attention.LayerNorm"),
        *names.dense("layer_{i}/feed_forward/intermediate", f"{_LAYER}.ffn"),
        *names.dense("layer_{i}/feed_forward/output", f"{_LAYER}.ffn_output"),
        *names.norm("layer_{i}/feed_forward_norm", f"{_LAYER}.full_layer_layer_norm"),
        *names.dense("pooler", "pooler"),
    ),
    heads={
        "classifier": Head("AlbertForSequenceClassification", **_CLASSIFIER),
        "multiple_choice": Head("AlbertForMultipleChoice", **_CLASSIFIER),
        "token_classifier": Head(
            "AlbertForTokenClassification",
            weights=CLASSIFIER_WEIGHTS,
            dropout=0.1,
            options=(Option("classifier_dropout_prob", "dropout"),),
        ),
        "question_answerer": Head("AlbertForQuestionAnswering", weights=ANSWER_WEIGHTS),
        "masked_lm": Head("AlbertForMaskedLM", weights=_MASKED_LM_WEIGHTS, **_MASKED_LM),
        "pretraining": Head(
            "AlbertForPreTraining",
            weights=(
                *_MASKED_LM_WEIGHTS,
                *names.dense("pair_head/output", "sop_classifier.classifier", prefixed=False),
            ),
            dropout=0.1,
            has_pooler=True,
            options=(Option("classifier_dropout_prob", "dropout"),),
            **_MASKED_LM,
        ),
    },
)
