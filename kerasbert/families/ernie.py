"""ERNIE (Sun et al., 2019, arXiv:1907.12412; 3.0: Sun et al., 2021, arXiv:2107.02137): BERT with a
table of task types. Sizes as released."""

from kerasbert.families import names
from kerasbert.families.bert import BASE as BERT_BASE
from kerasbert.families.bert_layout import (
    CONFIG_FIELDS,
    EMBEDDING_WEIGHTS,
    LAYER_WEIGHTS,
    POOLER_WEIGHTS,
    heads,
)
from kerasbert.families.config_map import Field
from kerasbert.families.family import Family, Preset

_CHINESE = BERT_BASE.replace(
    vocabulary_size=40000, max_sequence_length=2048, num_segments=4, num_task_types=16
)


def _small(num_layers, hidden_dim):
    return _CHINESE.replace(
        num_layers=num_layers, hidden_dim=hidden_dim, intermediate_dim=4 * hidden_dim
    )


def _preset(config, size):
    shape = f"{config.num_layers} x {config.hidden_dim}"
    return Preset(config, f"hf://nghuyong/ernie-3.0-{size}-zh", f"{shape}, Chinese")


ERNIE = Family(
    name="ernie",
    prefix="ernie",
    architecture="ErnieModel",
    presets={
        "ernie_3_base_zh": _preset(_CHINESE.replace(num_task_types=3), "base"),
        "ernie_3_medium_zh": _preset(_small(6, 768), "medium"),
        "ernie_3_mini_zh": _preset(_small(6, 384), "mini"),
        "ernie_3_micro_zh": _preset(_small(4, 384), "micro"),
        "ernie_3_nano_zh": _preset(_small(4, 312), "nano"),
    },
    # An empty `config.json` switches the task types off.
    defaults=BERT_BASE,
    config_fields=(
        *CONFIG_FIELDS,
        Field(
            "use_task_id",
            "num_task_types",
            read=lambda used, values: values["task_type_vocab_size"] if used else 0,
            write=lambda config: config.num_task_types > 0,
        ),
        Field("task_type_vocab_size", None, write=lambda config: config.num_task_types or 3),
    ),
    weights=(
        *EMBEDDING_WEIGHTS,
        *names.embedding("embeddings/task_type", "embeddings.task_type_embeddings"),
        *LAYER_WEIGHTS,
        *POOLER_WEIGHTS,
    ),
    heads=heads("Ernie"),
    harmless=frozenset({"task_id"}),
)
