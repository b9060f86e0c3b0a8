"""Tiny teachers and students."""

import keras
import numpy as np
import pytest

import kerasbert

TEXTS = [
    "wake me at seven",
    "play some jazz",
    "set an alarm for noon please",
    "put on a slow song",
    "alarm six thirty",
    "music",
    "wake us up before the train leaves tomorrow",
    "some piano",
    "an alarm for five",
    "play the news",
]
LABELS = ["alarm", "music"] * 5


@pytest.fixture(scope="session")
def tokenizer():
    return kerasbert.Tokenizer.train(TEXTS, vocabulary_size=90)


@pytest.fixture
def make_classifier(tokenizer):
    def make(
        num_layers=2,
        hidden_dim=16,
        labels=("alarm", "music"),
        config=None,
        num_heads=2,
        **kwargs,
    ):
        config = (config or kerasbert.EncoderConfig(num_segments=2)).replace(
            vocabulary_size=tokenizer.vocabulary_size(),
            num_layers=num_layers,
            num_heads=num_heads,
            hidden_dim=hidden_dim,
            intermediate_dim=2 * hidden_dim,
            max_sequence_length=32,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            initializer_range=0.3,
        )
        classes = {} if "num_classes" in kwargs else {"labels": list(labels)}
        return kerasbert.TextClassifier(
            kerasbert.Encoder(config),
            preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer, sequence_length=32),
            **classes,
            **kwargs,
        )

    return make


def numpy(tensor):
    return keras.ops.convert_to_numpy(tensor)


def traced(model, inputs, name):
    """What a model's layers give by one name, as NumPy arrays."""
    with kerasbert.trace(name) as record:
        model(inputs)
    return [np.asarray(numpy(value)) for value in record[name]]


def states(model, inputs):
    """Hidden states of a classifier as NumPy arrays."""
    return traced(model, inputs, "hidden_states")


def softmax(logits):
    exponents = np.exp(logits - logits.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)
