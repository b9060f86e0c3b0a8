"""DistilBERT (Sanh et al., 2019, arXiv:1910.01108): half of BERT's layers, without segments and
pooler (section 3)."""

from kerasbert.families import names
from kerasbert.families.bert import BASE as BERT_BASE
from kerasbert.families.bert_layout import ANSWER_WEIGHTS, CLASSIFIER_WEIGHTS
from kerasbert.families.config_map import activation, fields
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head, Option
from kerasbert.families.names import Row

BASE = BERT_BASE.replace(num_layers=6, num_segments=0, pooler=None)

_LAYER = "transformer.layer.{i}"
_CLASSIFIER = {
    "weights": (
        *names.dense("head/dense", "pre_classifier", prefixed=False),
        *CLASSIFIER_WEIGHTS,
    ),
    "pool": "first",
    "dense": "relu",
    "dropout": 0.2,
    "options": (Option("seq_classif_dropout", "dropout"),),
}

DISTILBERT = Family(
    name="distilbert",
    prefix="distilbert",
    architecture="DistilBertModel",
    presets={
        "distil_bert_base_en_uncased": Preset(
            BASE, "hf://distilbert/distilbert-base-uncased", "6 x 768, uncased"
        ),
        "distil_bert_base_en": Preset(
            BASE.replace(vocabulary_size=28996),
            "hf://distilbert/distilbert-base-cased",
            "6 x 768, cased",
        ),
        "distil_bert_base_multi": Preset(
            BASE.replace(vocabulary_size=119547),
            "hf://distilbert/distilbert-base-multilingual-cased",
            "6 x 768, 104 languages, cased",
        ),
    },
    defaults=BASE,
    config_fields=(
        *fields(
            vocab_size="vocabulary_size",
            n_layers="num_layers",
            n_heads="num_heads",
            dim="hidden_dim",
            hidden_dim="intermediate_dim",
            max_position_embeddings="max_sequence_length",
            pad_token_id="pad_token_id",
            dropout="hidden_dropout",
            attention_dropout="attention_dropout",
            initializer_range="initializer_range",
        ),
        activation("activation", "activation"),
    ),
    # The sinusoids only initialise the position table, which is stored.
    harmless=frozenset({"sinusoidal_pos_embds", "tie_weights_"}),
    weights=(
        *names.embedding("embeddings/token", "embeddings.word_embeddings"),
        *names.embedding("embeddings/position", "embeddings.position_embeddings"),
        *names.norm("embeddings/norm", "embeddings.LayerNorm"),
        *names.dense("layer_{i}/attention/query", f"{_LAYER}.attention.q_lin"),
        *names.dense("layer_{i}/attention/key", f"{_LAYER}.attention.k_lin"),
        *names.dense("layer_{i}/attention/value", f"{_LAYER}.attention.v_lin"),
        *names.dense("layer_{i}/attention/output", f"{_LAYER}.attention.out_lin"),
        *names.norm("layer_{i}/attention_norm", f"{_LAYER}.sa_layer_norm"),
        *names.dense("layer_{i}/feed_forward/intermediate", f"{_LAYER}.ffn.lin1"),
        *names.dense("layer_{i}/feed_forward/output", f"{_LAYER}.ffn.lin2"),
        *names.norm("layer_{i}/feed_forward_norm", f"{_LAYER}.output_layer_norm"),
    ),
    heads={
        "classifier": Head("DistilBertForSequenceClassification", **_CLASSIFIER),
        "multiple_choice": Head("DistilBertForMultipleChoice", **_CLASSIFIER),
        "token_classifier": Head(
            "DistilBertForTokenClassification", weights=CLASSIFIER_WEIGHTS, dropout="hidden"
        ),
        "question_answerer": Head(
            "DistilBertForQuestionAnswering",
            weights=ANSWER_WEIGHTS,
            dropout=0.1,
            options=(Option("qa_dropout", "dropout"),),
        ),
        "masked_lm": Head(
            "DistilBertForMaskedLM",
            weights=(
                *names.dense("head/dense", "vocab_transform", prefixed=False),
                *names.norm("head/norm", "vocab_layer_norm", prefixed=False),
                Row("head/bias", "vocab_projector.bias", prefixed=False),
            ),
            dense="encoder",
            norm=True,
            tied=(Row("embeddings/token/embeddings", "vocab_projector.weight", prefixed=False),),
        ),
    },
)
