"""ModernBERT (Warner et al., 2024, arXiv:2412.13663): pre-norm blocks without biases, gated
feed-forward layers, rotary positions, local windows with a global layer every third. Sizes: section
2.1.3 and table 4."""

from kerasbert.families import names
from kerasbert.families.bert_layout import CLASSIFIER_WEIGHTS
from kerasbert.families.config_map import activation, fields
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head, Option
from kerasbert.families.layer_kinds import LAYER_TYPES, ROPE_PARAMETERS
from kerasbert.families.names import Row
from kerasbert.layers import EncoderConfig, Rotary, Window

BASE = EncoderConfig(
    vocabulary_size=50368,
    num_layers=22,
    num_heads=12,
    hidden_dim=768,
    intermediate_dim=1152,
    max_sequence_length=8192,
    num_segments=0,
    pad_token_id=50283,
    gated_feed_forward=True,
    norm_placement="pre",
    first_attention_norm=False,
    norm_epsilon=1e-5,
    norm_bias=False,
    use_bias=False,
    pooler=None,
    hidden_dropout=0.0,
    attention_dropout=0.0,
    position=Rotary(theta=160_000.0, local_theta=10_000.0),
    attention=Window(width=128, global_every=3),
)
LARGE = BASE.replace(num_layers=28, num_heads=16, hidden_dim=1024, intermediate_dim=2624)

_LAYER = "layers.{i}"


def _head(architecture, output=CLASSIFIER_WEIGHTS, **facts):
    return Head(
        architecture,
        weights=(
            *names.dense("head/dense", "head.dense", prefixed=False),
            *names.norm("head/norm", "head.norm", prefixed=False),
            *output,
        ),
        dense="gelu",
        dense_bias=False,
        norm=True,
        **facts,
    )


_ACTIVATION = (
    Option("classifier_activation", "dense"),
    Option("classifier_bias", "dense_bias"),
)
_DROPOUT = (*_ACTIVATION, Option("classifier_dropout", "dropout"))
_POOLED = {
    "pool": "first",
    "options": (*_DROPOUT, Option("classifier_pooling", "pool", {"cls": "first", "mean": "mean"})),
}

MODERNBERT = Family(
    name="modernbert",
    prefix="model",
    architecture="ModernBertModel",
    presets={
        "modern_bert_base_en": Preset(
            BASE, "hf://answerdotai/ModernBERT-base", "22 x 768, 8192 tokens, cased"
        ),
        "modern_bert_large_en": Preset(
            LARGE, "hf://answerdotai/ModernBERT-large", "28 x 1024, 8192 tokens, cased"
        ),
    },
    defaults=BASE,
    config_fields=(
        *fields(
            vocab_size="vocabulary_size",
            num_hidden_layers="num_layers",
            num_attention_heads="num_heads",
            hidden_size="hidden_dim",
            intermediate_size="intermediate_dim",
            max_position_embeddings="max_sequence_length",
            pad_token_id="pad_token_id",
            norm_eps="norm_epsilon",
            norm_bias="norm_bias",
            attention_bias="use_bias",
            mlp_bias="use_bias",
            embedding_dropout="hidden_dropout",
            mlp_dropout="hidden_dropout",
            attention_dropout="attention_dropout",
            initializer_range="initializer_range",
            local_attention="attention.width",
        ),
        activation("hidden_activation", "activation"),
        *LAYER_TYPES,
        *ROPE_PARAMETERS,
    ),
    weights=(
        *names.embedding("embeddings/token", "embeddings.tok_embeddings"),
        *names.norm("embeddings/norm", "embeddings.norm"),
        *names.fused(
            [f"layer_{{i}}/attention/{name}" for name in ("query", "key", "value")],
            f"{_LAYER}.attn.Wqkv",
        ),
        *names.dense("layer_{i}/attention/output", f"{_LAYER}.attn.Wo"),
        *names.norm("layer_{i}/attention_norm", f"{_LAYER}.attn_norm"),
        *names.fused(
            [f"layer_{{i}}/feed_forward/{name}" for name in ("intermediate", "gate")],
            f"{_LAYER}.mlp.Wi",
        ),
        *names.dense("layer_{i}/feed_forward/output", f"{_LAYER}.mlp.Wo"),
        *names.norm("layer_{i}/feed_forward_norm", f"{_LAYER}.mlp_norm"),
        *names.norm("final_norm", "final_norm"),
    ),
    heads={
        "classifier": _head("ModernBertForSequenceClassification", **_POOLED),
        "multiple_choice": _head("ModernBertForMultipleChoice", **_POOLED),
        "token_classifier": _head("ModernBertForTokenClassification", options=_DROPOUT),
        "question_answerer": _head("ModernBertForQuestionAnswering", options=_DROPOUT),
        "masked_lm": _head(
            "ModernBertForMaskedLM",
            output=(Row("head/bias", "decoder.bias", prefixed=False),),
            tied=(Row("embeddings/token/embeddings", "decoder.weight", prefixed=False),),
            options=_ACTIVATION,
        ),
    },
    fixed={"decoder_bias": True},
    harmless=frozenset(
        "classifier_pooling deterministic_flash_attn initializer_cutoff_factor layer_norm_eps "
        "reference_compile repad_logits_with_grad sparse_pred_ignore_index "
        "sparse_prediction".split()
    ),
)
