"""BERT (Devlin et al., 2018, arXiv:1810.04805), its smaller sizes (Turc et al., 2019,
arXiv:1908.08962), and the kin of the same architecture. Sizes: section 3 of the former, table 1 of
the latter; the others' in the comments."""

from kerasbert.families.bert_layout import (
    CONFIG_FIELDS,
    EMBEDDING_WEIGHTS,
    LAYER_WEIGHTS,
    POOLER_WEIGHTS,
    heads,
)
from kerasbert.families.config_map import Field
from kerasbert.families.family import Family, Preset
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


def _wide(num_layers, hidden_dim, intermediate_dim):
    """Distilled students keep the teacher's 12 heads."""
    return BASE.replace(
        num_layers=num_layers, hidden_dim=hidden_dim, intermediate_dim=intermediate_dim
    )


CASED = BASE.replace(vocabulary_size=28996)

KIN = {
    # Lee et al., 2019, arXiv:1901.08746
    "bio_bert_base_en": Preset(
        CASED, "hf://dmis-lab/biobert-base-cased-v1.2", "12 x 768, cased, biomedical"
    ),
    # Araci, 2019, arXiv:1908.10063
    "fin_bert_base_en_uncased": Preset(
        BASE, "hf://ProsusAI/finbert", "12 x 768, uncased, financial"
    ),
    # Joshi et al., 2019, arXiv:1907.10529
    "span_bert_base_en": Preset(CASED, "hf://SpanBERT/spanbert-base-cased", "12 x 768, cased"),
    "span_bert_large_en": Preset(
        LARGE.replace(vocabulary_size=28996),
        "hf://SpanBERT/spanbert-large-cased",
        "24 x 1024, cased",
    ),
    # Jiao et al., 2019, arXiv:1909.10351, section 4.2
    "tiny_bert_4_en_uncased": Preset(
        _wide(4, 312, 1200), "hf://huawei-noah/TinyBERT_General_4L_312D", "4 x 312, uncased"
    ),
    "tiny_bert_6_en_uncased": Preset(
        _wide(6, 768, 3072), "hf://huawei-noah/TinyBERT_General_6L_768D", "6 x 768, uncased"
    ),
    # Wang et al., 2020, arXiv:2002.10957, table 3
    "mini_lm_6_en_uncased": Preset(
        _wide(6, 384, 1536), "hf://nreimers/MiniLM-L6-H384-uncased", "6 x 384, uncased"
    ),
    "mini_lm_12_en_uncased": Preset(
        _wide(12, 384, 1536), "hf://microsoft/MiniLM-L12-H384-uncased", "12 x 384, uncased"
    ),
}

BERT = Family(
    name="bert",
    prefix="bert",
    architecture="BertModel",
    presets={
        **KIN,
        "bert_tiny_en_uncased": Preset(
            _small(2, 128), "hf://google/bert_uncased_L-2_H-128_A-2", "2 x 128, uncased"
        ),
        "bert_mini_en_uncased": Preset(
            _small(4, 256), "hf://google/bert_uncased_L-4_H-256_A-4", "4 x 256, uncased"
        ),
        "bert_small_en_uncased": Preset(
            _small(4, 512), "hf://google/bert_uncased_L-4_H-512_A-8", "4 x 512, uncased"
        ),
        "bert_medium_en_uncased": Preset(
            _small(8, 512), "hf://google/bert_uncased_L-8_H-512_A-8", "8 x 512, uncased"
        ),
        "bert_base_en_uncased": Preset(
            BASE, "hf://google-bert/bert-base-uncased", "12 x 768, uncased"
        ),
        "bert_base_en": Preset(
            BASE.replace(vocabulary_size=28996),
            "hf://google-bert/bert-base-cased",
            "12 x 768, cased",
        ),
        "bert_base_zh": Preset(
            BASE.replace(vocabulary_size=21128),
            "hf://google-bert/bert-base-chinese",
            "12 x 768, Chinese",
        ),
        "bert_base_multi": Preset(
            BASE.replace(vocabulary_size=119547),
            "hf://google-bert/bert-base-multilingual-cased",
            "12 x 768, 104 languages, cased",
        ),
        "bert_large_en_uncased": Preset(
            LARGE, "hf://google-bert/bert-large-uncased", "24 x 1024, uncased"
        ),
        "bert_large_en": Preset(
            LARGE.replace(vocabulary_size=28996),
            "hf://google-bert/bert-large-cased",
            "24 x 1024, cased",
        ),
    },
    defaults=BASE,
    config_fields=(*CONFIG_FIELDS, Field("is_decoder", "causal")),
    harmless=frozenset(
        "pooler_fc_size pooler_num_attention_heads pooler_num_fc_layers pooler_size_per_head "
        "pooler_type cell emb_size structure".split()  # the last three are TinyBERT's
    ),
    weights=(*EMBEDDING_WEIGHTS, *LAYER_WEIGHTS, *POOLER_WEIGHTS),
    heads=heads("Bert"),
)
