"""kerasbert itself."""

from __future__ import annotations

from shapes import SHAPES, labels, token_batch


def encode(backend, dtype, shape, batches):
    """`predict_on_batch` of the encoder, from arrays to arrays."""
    encoder = _encoder(shape, dtype)

    def step(batch_size):
        batch = token_batch(batch_size)
        return lambda: encoder.predict_on_batch(batch)

    return {f"batch {size}": step(size) for size in batches}


def train(backend, dtype, shape, batches):
    """`train_on_batch` of the text classifier: forward, backward, AdamW."""
    import keras

    import kerasbert

    policy = {"bfloat16": "mixed_bfloat16"}.get(dtype, dtype)
    classifier = kerasbert.TextClassifier(_encoder(shape, policy), num_classes=2)
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
    """`predict` of the text classifier, from strings to logits, in length buckets."""
    import kerasbert

    classifier = kerasbert.TextClassifier(
        _encoder(shape, dtype),
        num_classes=77,
        preprocessor=kerasbert.TextClassifierPreprocessor(
            kerasbert.Tokenizer.from_preset(tokenizer), sequence_length=128
        ),
    )
    return {"texts": lambda: classifier.predict(texts, batch_size=32, verbose=0)}


def _encoder(shape, dtype):
    import dataclasses

    import kerasbert

    sizes = dataclasses.asdict(SHAPES[shape])
    return kerasbert.Encoder(kerasbert.EncoderConfig(**sizes), dtype=dtype)
