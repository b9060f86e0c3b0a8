"""ModernBERT (Warner et al., 2024, arXiv:2412.13663): pre-norm blocks without biases, gated
feed-forward layers, rotary positions, local windows with a global layer every third. Sizes: section
2.1.3 and table 4."""

from kerasbert.families import names
from kerasbert.families.bert_layout import CLASSIFIER_WEIGHTS
from kerasbert.families.config_map import Field, activation, fields
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head, Option
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

_GLOBAL, _LOCAL = "full_attention", "sliding_attention"
_LAYER = "layers.{i}"


def _layer_types(count, every):
    return [_LOCAL if index % every else _GLOBAL for index in range(count)]


def _read_layer_types(types, values):
    """The distance between global layers, which must be regular, from the list of all kinds."""
    later = [index for index, kind in enumerate(types) if kind == _GLOBAL and index]
    every = later[0] if later else max(len(types), values.get("global_attn_every_n_layers", 3))
    if list(types) != _layer_types(len(types), every):
        raise ValueError(
            "Only a global layer at regular distances, from the first on, is supported. "
            f"Received: layer_types={types}"
        )
    return every


def _write_layer_types(config):
    return _layer_types(config.num_layers, config.attention.global_every)


def _read_theta(kind):
    def read(parameters, _):
        given = parameters[kind]
        if given.get("rope_type", "default") != "default":
            raise ValueError(
                f"Only the default kind of rotary positions is supported. Received: {given}"
            )
        return float(given["rope_theta"])

    return read


def _write_rope(config):
    local = config.position.local_theta or config.position.theta
    thetas = {_GLOBAL: config.position.theta, _LOCAL: local}
    return {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in thetas.items()}


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
        Field("layer_types", "attention.global_every", _read_layer_types, _write_layer_types),
        Field("global_attn_every_n_layers", "attention.global_every", is_old=True),
        Field("global_rope_theta", "position.theta", is_old=True),
        Field("local_rope_theta", "position.local_theta", is_old=True),
        Field("rope_parameters", "position.theta", _read_theta(_GLOBAL), _write_rope),
        Field("rope_parameters", "position.local_theta", _read_theta(_LOCAL), _write_rope),
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
        "classifier_pooling deterministic_flash_attn initializer_cutoff_factor reference_compile "
        "repad_logits_with_grad "
        "sparse_pred_ignore_index sparse_prediction".split()
    ),
)
