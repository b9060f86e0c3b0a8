"""A tiny encoder of every family with all that sets the family apart, batches and labels for it."""

import dataclasses

import numpy as np

import kerasbert
from kerasbert import Blocks, Bottleneck, Convolution, Disentangled, RelativeBias, Rotary, Window
from kerasbert.families import FAMILIES

VOCABULARY_SIZE = 40
LENGTH = 8
SIZES = {
    "vocabulary_size": VOCABULARY_SIZE,
    "num_layers": 2,
    "num_heads": 2,
    "hidden_dim": 12,
    "intermediate_dim": 16,
    "max_sequence_length": 24,
    "pad_token_id": 0,
    "initializer_range": 0.3,  # so that different inputs give clearly different outputs
}
# What makes each kind of position and of attention small enough to act on so few tokens.
SMALL = {
    Blocks: {"block_size": 1, "random_blocks": 1},
    Disentangled: {"max_distance": None},
    RelativeBias: {"buckets": 8, "max_distance": 10},
    Rotary: {},
    Window: {"width": 4},
}
# What not all encoders of the family have.
OPTIONAL = {
    "deberta-v2": {
        "convolution": Convolution(3),
        "position": Disentangled(buckets=4, absolute=kerasbert.Absolute()),
    },
    "ernie": {"num_task_types": 3},
}
TASKS = {
    "classifier": kerasbert.TextClassifier,
    "token_classifier": kerasbert.TokenClassifier,
    "question_answerer": kerasbert.QuestionAnswerer,
    "multiple_choice": kerasbert.MultipleChoice,
    "masked_lm": kerasbert.MaskedLM,
    "pretraining": kerasbert.PretrainingModel,
    "replaced_tokens": kerasbert.ReplacedTokenDetector,
    "text_embedder": kerasbert.TextEmbedder,
}
ARGUMENTS = {"classifier": {"num_classes": 3}, "token_classifier": {"labels": ["O", "B", "I"]}}


def config_of(family, **changes):
    """A tiny `EncoderConfig` of a family, with some fields replaced."""
    config = FAMILIES[family].defaults
    parts = {
        name: dataclasses.replace(part, **SMALL[type(part)])
        for name in ("position", "attention")
        if type(part := getattr(config, name)) in SMALL
    }
    if config.embedding_dim:
        parts["embedding_dim"] = 10
    if config.bottleneck:
        parts["bottleneck"] = Bottleneck(8, 2, config.bottleneck.attention_input)
    return config.replace(**{**SIZES, **parts, **OPTIONAL.get(family, {}), **changes})


def encoder_of(family, dtype=None, **changes):
    """A tiny `Encoder` of a family."""
    return kerasbert.Encoder(config_of(family, **changes), family=family, dtype=dtype)


def task_of(family, task, dtype=None, **changes):
    """A tiny model of a family with the head of a task."""
    return TASKS[task](encoder_of(family, dtype, **changes), **ARGUMENTS.get(task, {}))


def batch_of(lengths=(8, 5, 1, 0), length=LENGTH, seed=0):
    """Every input that any family takes: rows with so many real tokens, int32 (rows, length)."""
    draw = np.random.default_rng(seed)
    padding_mask = np.arange(length) < np.array(lengths)[:, None]
    shape = padding_mask.shape
    drawn = {
        "token_ids": draw.integers(1, VOCABULARY_SIZE, shape),
        "segment_ids": draw.integers(0, 2, shape),
        "task_type_ids": draw.integers(0, 3, shape),
        "global_mask": draw.integers(0, 2, shape),
    }
    batch = {name: (array * padding_mask).astype("int32") for name, array in drawn.items()}
    return {**batch, "padding_mask": padding_mask.astype("int32")}


def inputs_of(task, batch):
    """A batch laid out as the task takes it."""
    if task not in ("multiple_choice", "text_embedder"):
        return batch
    return {name: np.stack((array, array[:, ::-1]), axis=1) for name, array in batch.items()}


def labels_of(task, batch):
    """Labels for the rows of a batch, as the task's default loss takes them."""
    rows, length = batch["token_ids"].shape
    draw = np.random.default_rng(1)
    per_token = np.where(batch["padding_mask"], batch["token_ids"], -100)
    return {
        "classifier": draw.integers(0, 3, rows),
        "token_classifier": np.where(per_token < 0, -100, per_token % 3),
        "question_answerer": draw.integers(0, length, (rows, 2)),
        "multiple_choice": draw.integers(0, 2, rows),
        "masked_lm": per_token,
        "pretraining": {"masked_tokens": per_token, "sentence_pairs": draw.integers(0, 2, rows)},
        "replaced_tokens": draw.integers(0, 2, (rows, length)),
        "text_embedder": draw.uniform(-1, 1, rows),
    }[task]
