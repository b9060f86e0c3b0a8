"""BERT (Devlin et al., 2018, arXiv:1810.04805) and its smaller sizes (Turc et al., 2019,
arXiv:1908.08962). Sizes: section 3 of the former, table 1 of the latter."""

from kerasbert.families import names
from kerasbert.families.config_map import Field, fields
from kerasbert.families.family import ClassificationHead, Family, Preset
from kerasbert.layers import EncoderConfig

BASE = EncoderConfig()
LARGE = BASE.replace(num_layers=24, num_heads=16, hidden_dim=1024, intermediate_dim=4096)


def _small(num_layers, hidden_dim):
    """The smaller sizes have heads of 64 and feed-forward layers of four times the width."""
    return BASE.replace(
        num_layers=num_layers,
        hidden_dim=hidden_dim,
        num_heads=hidden_dim // 64,
        intermediate_dim=4 * hidden_dim,
    )


CONFIG_FIELDS = (
    *fields(
        vocab_size="vocabulary_size",
        num_hidden_layers="num_layers",
        num_attention_heads="num_heads",
        hidden_size="hidden_dim",
        intermediate_size="intermediate_dim",
        max_position_embeddings="max_sequence_length",
        type_vocab_size="num_segments",
        pad_token_id="pad_token_id",
        layer_norm_eps="norm_epsilon",
        hidden_dropout_prob="hidden_dropout",
        attention_probs_dropout_prob="attention_dropout",
        initializer_range="initializer_range",
    ),
    Field("hidden_act", "activation", is_activation=True),
)

EMBEDDING_WEIGHTS = (
    *names.embedding("embeddings/token", "embeddings.word_embeddings"),
    *names.embedding("embeddings/position", "embeddings.position_embeddings"),
    *names.embedding("embeddings/segment", "embeddings.token_type_embeddings"),
    *names.norm("embeddings/norm", "embeddings.LayerNorm"),
)
_LAYER = "encoder.layer.{i}"
LAYER_WEIGHTS = (
    *names.dense("layer_{i}/attention/query", f"{_LAYER}.attention.self.query"),
    *names.dense("layer_{i}/attention/key", f"{_LAYER}.attention.self.key"),
    *names.dense("layer_{i}/attention/value", f"{_LAYER}.attention.self.value"),
    *names.dense("layer_{i}/attention/output", f"{_LAYER}.attention.output.dense"),
    *names.norm("layer_{i}/attention_norm", f"{_LAYER}.attention.output.LayerNorm"),
    *names.dense("layer_{i}/feed_forward/intermediate", f"{_LAYER}.intermediate.dense"),
    *names.dense("layer_{i}/feed_forward/output", f"{_LAYER}.output.dense"),
    *names.norm("layer_{i}/feed_forward_norm", f"{_LAYER}.output.LayerNorm"),
)

BERT = Family(
    name="bert",
    prefix="bert",
    architectures={"encoder": "BertModel", "classifier": "BertForSequenceClassification"},
    presets={
        "bert_tiny_en_uncased": Preset(
            _small(2, 128), "hf://google/bert_uncased_L-2_H-128_A-2", "2 layers x 128, uncased"
        ),
        "bert_mini_en_uncased": Preset(
            _small(4, 256), "hf://google/bert_uncased_L-4_H-256_A-4", "4 layers x 256, uncased"
        ),
        "bert_small_en_uncased": Preset(
            _small(4, 512), "hf://google/bert_uncased_L-4_H-512_A-8", "4 layers x 512, uncased"
        ),
        "bert_medium_en_uncased": Preset(
            _small(8, 512), "hf://google/bert_uncased_L-8_H-512_A-8", "8 layers x 512, uncased"
        ),
        "bert_base_en_uncased": Preset(
            BASE, "hf://google-bert/bert-base-uncased", "12 layers x 768, uncased"
        ),
        "bert_base_en": Preset(
            BASE.replace(vocabulary_size=28996),
            "hf://google-bert/bert-base-cased",
            "12 layers x 768, cased",
        ),
        "bert_base_zh": Preset(
            BASE.replace(vocabulary_size=21128),
            "hf://google-bert/bert-base-chinese",
            "12 layers x 768, Chinese",
        ),
        "bert_base_multi": Preset(
            BASE.replace(vocabulary_size=119547),
            "hf://google-bert/bert-base-multilingual-cased",
            "12 layers x 768, 104 languages, cased",
        ),
        "bert_large_en_uncased": Preset(
            LARGE, "hf://google-bert/bert-large-uncased", "24 layers x 1024, uncased"
        ),
        "bert_large_en": Preset(
            LARGE.replace(vocabulary_size=28996),
            "hf://google-bert/bert-large-cased",
            "24 layers x 1024, cased",
        ),
    },
    defaults=BASE,
    config_fields=(*CONFIG_FIELDS, Field("is_decoder", "causal")),
    harmless=frozenset(
        "pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head "
        "pooler_type".split()
    ),
    weights=(
        *EMBEDDING_WEIGHTS,
        *LAYER_WEIGHTS,
        *names.dense("pooler", "pooler.dense"),
    ),
    head_weights=(
        *names.dense("head/dense", "pooler.dense"),
        *names.dense("head/output", "classifier", prefixed=False),
    ),
    classification_head=ClassificationHead(
        pool="pooled", dense="tanh", dropout_field="classifier_dropout"
    ),
)
