"""RoBERTa (Liu et al., 2019, arXiv:1907.11692): BERT trained longer, without sentence pairs; and
those of its layout: DistilRoBERTa (Sanh et al., 2019), XLM-RoBERTa (Conneau et al., 2019,
arXiv:1911.02116) and CamemBERT (Martin et al., 2019, arXiv:1911.03894).

fairseq counts positions over the real tokens, from the row after the padding id's on."""

from kerasbert.families import names
from kerasbert.families.bert import BASE as BERT_BASE
from kerasbert.families.bert_layout import (
    ANSWER_WEIGHTS,
    CLASSIFIER_DROPOUT,
    CLASSIFIER_WEIGHTS,
    EMBEDDING_WEIGHTS,
    LAYER_WEIGHTS,
    POOLED_HEAD,
    POOLER_WEIGHTS,
)
from kerasbert.families.bert_layout import CONFIG_FIELDS as BERT_CONFIG_FIELDS
from kerasbert.families.config_map import Field
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head
from kerasbert.families.names import Row
from kerasbert.layers import Absolute

BASE = BERT_BASE.replace(
    vocabulary_size=50265,
    num_segments=1,
    pad_token_id=1,
    norm_epsilon=1e-5,
    position=Absolute(offset=2, counting="non_padding"),
)
LARGE = BASE.replace(num_layers=24, num_heads=16, hidden_dim=1024, intermediate_dim=4096)

# The table has a row for each id up to the padding's, and one for each position.
CONFIG_FIELDS = (
    *(field for field in BERT_CONFIG_FIELDS if field.theirs != "max_position_embeddings"),
    Field(
        "pad_token_id",
        "position.offset",
        read=lambda pad, _: pad + 1,
        write=lambda config: config.position.offset - 1,
    ),
    Field(
        "max_position_embeddings",
        "max_sequence_length",
        read=lambda rows, values: rows - values["pad_token_id"] - 1,
        write=lambda config: config.max_sequence_length + config.position.offset,
    ),
)
MASKED_LM_WEIGHTS = (
    *names.dense("head/dense", "lm_head.dense", prefixed=False),
    *names.norm("head/norm", "lm_head.layer_norm", prefixed=False),
    Row("head/bias", "lm_head.bias", prefixed=False),
)
TIED_DECODER = (
    Row("embeddings/token/embeddings", "lm_head.decoder.weight", prefixed=False),
    Row("head/bias", "lm_head.decoder.bias", prefixed=False),
)
TWO_LAYER_CLASSIFIER_WEIGHTS = (
    *names.dense("head/dense", "classifier.dense", prefixed=False),
    *names.dense("head/output", "classifier.out_proj", prefixed=False),
)


def heads(prefix: str, dropout_options=CLASSIFIER_DROPOUT) -> dict[str, Head]:
    """RoBERTa's heads, under class names that start with `prefix`."""
    return {
        "classifier": Head(
            f"{prefix}ForSequenceClassification",
            weights=TWO_LAYER_CLASSIFIER_WEIGHTS,
            pool="first",
            input_dropout="output",
            dense="tanh",
            dropout="hidden",
            options=dropout_options,
        ),
        "multiple_choice": Head(f"{prefix}ForMultipleChoice", **{**POOLED_HEAD, "options": ()}),
        "token_classifier": Head(
            f"{prefix}ForTokenClassification",
            weights=CLASSIFIER_WEIGHTS,
            dropout="hidden",
            options=dropout_options,
        ),
        "question_answerer": Head(f"{prefix}ForQuestionAnswering", weights=ANSWER_WEIGHTS),
        "masked_lm": Head(
            f"{prefix}ForMaskedLM",
            weights=MASKED_LM_WEIGHTS,
            dense="gelu",
            norm=True,
            tied=TIED_DECODER,
        ),
    }


def _family(name, class_prefix, presets, vocabulary_size=30522):
    return Family(
        name=name,
        prefix="roberta",
        architecture=f"{class_prefix}Model",
        presets=presets,
        # An empty `config.json` keeps some of BERT's values.
        defaults=BASE.replace(
            vocabulary_size=vocabulary_size,
            num_segments=2,
            norm_epsilon=1e-12,
            max_sequence_length=510,
        ),
        config_fields=CONFIG_FIELDS,
        weights=(*EMBEDDING_WEIGHTS, *LAYER_WEIGHTS, *POOLER_WEIGHTS),
        heads=heads(class_prefix),
    )


ROBERTA = _family(
    "roberta",
    "Roberta",
    {
        "roberta_base_en": Preset(BASE, "hf://FacebookAI/roberta-base", "12 x 768, cased"),
        "roberta_large_en": Preset(LARGE, "hf://FacebookAI/roberta-large", "24 x 1024, cased"),
        "distil_roberta_base_en": Preset(
            BASE.replace(num_layers=6), "hf://distilbert/distilroberta-base", "6 x 768, cased"
        ),
    },
    vocabulary_size=50265,
)
XLM_ROBERTA = _family(
    "xlm-roberta",
    "XLMRoberta",
    {
        "xlm_roberta_base_multi": Preset(
            BASE.replace(vocabulary_size=250002),
            "hf://FacebookAI/xlm-roberta-base",
            "12 x 768, 100 languages, cased",
        ),
        "xlm_roberta_large_multi": Preset(
            LARGE.replace(vocabulary_size=250002),
            "hf://FacebookAI/xlm-roberta-large",
            "24 x 1024, 100 languages, cased",
        ),
    },
)
CAMEMBERT = _family(
    "camembert",
    "Camembert",
    {
        "camembert_base_fr": Preset(
            BASE.replace(vocabulary_size=32005),
            "hf://almanach/camembert-base",
            "12 x 768, French, cased",
        ),
    },
)
