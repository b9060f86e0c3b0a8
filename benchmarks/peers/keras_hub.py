"""KerasHub's BERT."""

from __future__ import annotations

from pathlib import Path

from shapes import SHAPES, VOCABULARY_SIZE, labels, token_batch


def encode(backend, dtype, shape, batches):
    """`predict_on_batch` of the backbone, from arrays to arrays."""
    backbone = _backbone(shape, dtype)

    def step(batch_size):
        batch = token_batch(batch_size)
        return lambda: backbone.predict_on_batch(batch)

    return {f"batch {size}": step(size) for size in batches}


def train(backend, dtype, shape, batches):
    """`train_on_batch` of the text classifier: forward, backward, AdamW."""
    import keras
    import keras_hub

    policy = {"bfloat16": "mixed_bfloat16"}.get(dtype, dtype)
    classifier = keras_hub.models.BertTextClassifier(
        backbone=_backbone(shape, policy), num_classes=2, preprocessor=None
    )
    classifier.compile(
        optimizer=keras.optimizers.AdamW(2e-5, weight_decay=0.01),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=[],
    )

    def step(batch_size):
        batch, targets = token_batch(batch_size), labels(batch_size)
        return lambda: classifier.train_on_batch(batch, targets)

    return {f"batch {size}": step(size) for size in batches}


def predict(backend, dtype, shape, texts, tokenizer):
    """`predict` of the text classifier, from strings to logits, padded to `sequence_length`."""
    import keras_hub

    words = keras_hub.models.BertTokenizer(
        vocabulary=str(Path(tokenizer) / "vocab.txt"), lowercase=True
    )
    classifier = keras_hub.models.BertTextClassifier(
        backbone=_backbone(shape, dtype),
        num_classes=77,
        preprocessor=keras_hub.models.BertTextClassifierPreprocessor(words, sequence_length=128),
    )
    return {"texts": lambda: classifier.predict(texts, batch_size=32, verbose=0)}


def _backbone(shape, dtype):
    import keras_hub

    sizes = SHAPES[shape]
    return keras_hub.models.BertBackbone(
        vocabulary_size=VOCABULARY_SIZE,
        num_layers=sizes.num_layers,
        num_heads=sizes.num_heads,
        hidden_dim=sizes.hidden_dim,
        intermediate_dim=sizes.intermediate_dim,
        dropout=0.1,
        dtype=dtype,
    )
