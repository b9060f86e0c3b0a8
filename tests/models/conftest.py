"""Small encoders, batches, and fresh processes on other backends."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import keras
import numpy as np
import pytest

from kerasbert import EncoderConfig, TextClassifierPreprocessor, Tokenizer

ROOT = Path(__file__).resolve().parents[2]
BACKENDS = ("tensorflow", "jax", "torch")
TEXTS = [
    "wake me at seven",
    "play some jazz",
    "an alarm for noon please",
    "put on a song that I like",
    "wake me up early tomorrow",
    "some music",
    "set the alarm",
]
LABELS = ["alarm", "music", "alarm", "music", "alarm", "music", "alarm"]


@pytest.fixture(scope="session")
def texts():
    return list(TEXTS)


@pytest.fixture(scope="session")
def labels():
    return list(LABELS)


@pytest.fixture(scope="session")
def config():
    return EncoderConfig(
        vocabulary_size=80,
        num_layers=2,
        num_heads=2,
        hidden_dim=8,
        intermediate_dim=12,
        max_sequence_length=32,
        initializer_range=0.3,  # so that different inputs give clearly different outputs
    )


@pytest.fixture(scope="session")
def preprocessor():
    tokenizer = Tokenizer.train(TEXTS, vocabulary_size=80)
    return TextClassifierPreprocessor(tokenizer, sequence_length=32, buckets=(8, 16))


@pytest.fixture(scope="session")
def batch():
    """Two rows of five tokens, the second with two of padding."""
    return {
        "token_ids": np.array([[2, 7, 8, 9, 3], [2, 11, 3, 0, 0]], "int32"),
        "segment_ids": np.array([[0, 0, 0, 1, 1], [0, 0, 0, 0, 0]], "int32"),
        "padding_mask": np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], "int32"),
    }


@pytest.fixture(scope="session")
def gradients():
    """Gradients of `loss()` by a model's trainable variables, as float32 NumPy arrays."""

    def compute(model, loss):
        backend = keras.backend.backend()
        found = {"tensorflow": _tensorflow, "jax": _jax, "torch": _torch}[backend](model, loss)
        return {
            variable.path: keras.ops.convert_to_numpy(keras.ops.cast(gradient, "float32"))
            for variable, gradient in zip(model.trainable_variables, found, strict=True)
            if gradient is not None
        }

    return compute


def _tensorflow(model, loss):
    import tensorflow as tf

    with tf.GradientTape() as tape:
        value = loss()
    return tape.gradient(value, [v.value for v in model.trainable_variables])


def _jax(model, loss):
    import jax

    def stateless(values):
        with keras.StatelessScope(zip(model.trainable_variables, values, strict=True)):
            return loss()

    return jax.grad(stateless)([v.value for v in model.trainable_variables])


def _torch(model, loss):
    model.zero_grad()
    loss().backward()
    return [v.value.grad for v in model.trainable_variables]


@pytest.fixture(scope="session")
def run_fresh():
    """Run Python source in a new process on a backend, and return what it prints."""

    def run(source, backend, folder):
        result = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(source)],
            cwd=folder,
            env={**os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert result.returncode == 0, result.stderr[-3000:]
        return result.stdout

    return run


@pytest.fixture(scope="session")
def other_backends():
    """The next one: when the suite has run on all three, each has read what another wrote."""
    active = BACKENDS.index(keras.backend.backend())
    return [BACKENDS[(active + 1) % len(BACKENDS)]]
