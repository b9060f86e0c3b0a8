"""ELECTRA (Clark et al., 2020, arXiv:2003.10555): BERT's encoder, trained to tell replaced tokens
from original ones, and the small generator that replaces them. Sizes: table 6; the generators' as
released."""

from kerasbert.families import names
from kerasbert.families.bert import BASE as BERT_BASE
from kerasbert.families.bert import LARGE as BERT_LARGE
from kerasbert.families.bert_layout import (
    ANSWER_WEIGHTS,
    CLASSIFIER_DROPOUT,
    CLASSIFIER_WEIGHTS,
    CONFIG_FIELDS,
    EMBEDDING_WEIGHTS,
    LAYER_WEIGHTS,
)
from kerasbert.families.config_map import Field
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head, Option
from kerasbert.families.names import Row
from kerasbert.families.roberta import TWO_LAYER_CLASSIFIER_WEIGHTS

BASE = BERT_BASE.replace(pooler=None)
LARGE = BERT_LARGE.replace(pooler=None)
SMALL = BASE.replace(hidden_dim=256, num_heads=4, intermediate_dim=1024, embedding_dim=128)

ELECTRA = Family(
    name="electra",
    prefix="electra",
    architecture="ElectraModel",
    presets={
        "electra_small_discriminator_uncased_en": Preset(
            SMALL, "hf://google/electra-small-discriminator", "12 x 256, uncased"
        ),
        "electra_base_discriminator_uncased_en": Preset(
            BASE, "hf://google/electra-base-discriminator", "12 x 768, uncased"
        ),
        "electra_large_discriminator_uncased_en": Preset(
            LARGE, "hf://google/electra-large-discriminator", "24 x 1024, uncased"
        ),
        "electra_small_generator_uncased_en": Preset(
            SMALL, "hf://google/electra-small-generator", "12 x 256, uncased"
        ),
        "electra_base_generator_uncased_en": Preset(
            SMALL.replace(embedding_dim=768),
            "hf://google/electra-base-generator",
            "12 x 256, uncased",
        ),
        "electra_large_generator_uncased_en": Preset(
            SMALL.replace(num_layers=24, embedding_dim=1024),
            "hf://google/electra-large-generator",
            "24 x 256, uncased",
        ),
    },
    defaults=SMALL,
    config_fields=(
        *CONFIG_FIELDS,
        Field(
            "embedding_size",
            "embedding_dim",
            read=lambda width, values: None if width == values["hidden_size"] else width,
            write=lambda config: config.embedding_dim or config.hidden_dim,
        ),
    ),
    weights=(
        *EMBEDDING_WEIGHTS,
        *names.dense("embeddings/projection", "embeddings_project"),
        *LAYER_WEIGHTS,
    ),
    heads={
        "classifier": Head(
            "ElectraForSequenceClassification",
            weights=TWO_LAYER_CLASSIFIER_WEIGHTS,
            pool="first",
            input_dropout="output",
            dense="gelu",
            dropout="hidden",
            options=CLASSIFIER_DROPOUT,
        ),
        "multiple_choice": Head(
            "ElectraForMultipleChoice",
            weights=(
                *names.dense("head/dense", "sequence_summary.summary", prefixed=False),
                *CLASSIFIER_WEIGHTS,
            ),
            pool="first",
            dense="gelu",
            dropout=0.1,
            options=(
                Option("summary_last_dropout", "dropout"),
                Option("summary_activation", "dense"),
            ),
        ),
        "token_classifier": Head(
            "ElectraForTokenClassification",
            weights=CLASSIFIER_WEIGHTS,
            dropout="hidden",
            options=CLASSIFIER_DROPOUT,
        ),
        "question_answerer": Head("ElectraForQuestionAnswering", weights=ANSWER_WEIGHTS),
        "masked_lm": Head(
            "ElectraForMaskedLM",
            weights=(
                *names.dense("head/dense", "generator_predictions.dense", prefixed=False),
                *names.norm("head/norm", "generator_predictions.LayerNorm", prefixed=False),
                Row("head/bias", "generator_lm_head.bias", prefixed=False),
            ),
            dense="gelu",
            norm=True,
            tied=(Row("embeddings/token/embeddings", "generator_lm_head.weight", prefixed=False),),
        ),
        "replaced_tokens": Head(
            "ElectraForPreTraining",
            weights=(
                *names.dense("head/dense", "discriminator_predictions.dense", prefixed=False),
                *names.dense(
                    "head/output", "discriminator_predictions.dense_prediction", prefixed=False
                ),
            ),
            dense="encoder",
        ),
    },
    harmless=frozenset({"generator_size"}),
    fixed={"summary_type": "first", "summary_use_proj": True},
)
