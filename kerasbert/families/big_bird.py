"""BigBird (Zaheer et al., 2020, arXiv:2007.14062): BERT with block-sparse attention. Sizes:
appendix E.1. transformers draws its random blocks in training alone."""

from dataclasses import replace

from kerasbert.families import names
from kerasbert.families.bert_layout import (
    CLASSIFIER_DROPOUT,
    CONFIG_FIELDS,
    EMBEDDING_WEIGHTS,
    LAYER_WEIGHTS,
    heads,
)
from kerasbert.families.config_map import Field
from kerasbert.families.family import Family, Preset
from kerasbert.families.heads import Head
from kerasbert.families.roberta import TWO_LAYER_CLASSIFIER_WEIGHTS
from kerasbert.layers import Blocks, EncoderConfig, Full

BASE = EncoderConfig(
    vocabulary_size=50358,
    max_sequence_length=4096,
    activation="gelu_tanh",
    attention=Blocks(block_size=64, random_blocks=3),
)
LARGE = BASE.replace(num_layers=24, num_heads=16, hidden_dim=1024, intermediate_dim=4096)


def _read_attention(kind, values):
    if kind == "original_full":
        return Full()
    return Blocks(values["block_size"], values["num_random_blocks"])


def _blocks(config):
    return config.attention if isinstance(config.attention, Blocks) else BASE.attention


def _heads():
    """All but question answering keep a pooler; the classifier does not read it."""
    pooler = names.dense("head/dense", "pooler")
    tables = heads("BigBird")
    del tables["question_answerer"]  # its feed-forward block is no other family's
    tables = {task: replace(head, has_pooler=True) for task, head in tables.items()}
    choice = tables["multiple_choice"]
    return {
        **tables,
        "multiple_choice": replace(choice, weights=(*pooler, *choice.weights[2:])),
        "classifier": Head(
            "BigBirdForSequenceClassification",
            weights=TWO_LAYER_CLASSIFIER_WEIGHTS,
            pool="first",
            input_dropout="output",
            dense="encoder",
            dropout="hidden",
            has_pooler=True,
            options=CLASSIFIER_DROPOUT,
        ),
    }


BIG_BIRD = Family(
    name="big_bird",
    prefix="bert",
    architecture="BigBirdModel",
    presets={
        "big_bird_base_en": Preset(
            BASE, "hf://google/bigbird-roberta-base", "12 x 768, 4096 tokens, cased"
        ),
        "big_bird_large_en": Preset(
            LARGE, "hf://google/bigbird-roberta-large", "24 x 1024, 4096 tokens, cased"
        ),
    },
    defaults=BASE,
    config_fields=(
        *CONFIG_FIELDS,
        Field(
            "attention_type",
            "attention",
            read=_read_attention,
            write=lambda config: (
                "original_full" if isinstance(config.attention, Full) else "block_sparse"
            ),
        ),
        Field("block_size", None, write=lambda config: _blocks(config).block_size),
        Field("num_random_blocks", None, write=lambda config: _blocks(config).random_blocks),
    ),
    weights=(*EMBEDDING_WEIGHTS, *LAYER_WEIGHTS, *names.dense("pooler", "pooler")),
    heads=_heads(),
    fixed={"use_bias": True, "rescale_embeddings": False},
)
