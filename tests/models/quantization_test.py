"""Models that Keras quantized are saved and loaded as they are."""

import keras
import numpy as np
import pytest

import kerasbert

TEXTS = ["wake me at seven", "play some jazz", ""]


@pytest.fixture
def quantized():
    tokenizer = kerasbert.Tokenizer.train(TEXTS, vocabulary_size=60)
    config = kerasbert.EncoderConfig(
        vocabulary_size=60, num_layers=1, num_heads=2, hidden_dim=16, intermediate_dim=32
    )
    classifier = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        labels=["alarm", "music"],
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer),
    )
    classifier.quantize("int8")
    return classifier


def test_a_quantized_classifier_survives_its_preset(quantized, tmp_path):
    quantized.save_to_preset(tmp_path / "preset")
    loaded = kerasbert.TextClassifier.from_preset(tmp_path / "preset")
    kernel = loaded.head.dense_output.kernel
    assert keras.backend.standardize_dtype(kernel.dtype) == "int8"
    np.testing.assert_array_equal(
        loaded.predict(TEXTS, verbose=0), quantized.predict(TEXTS, verbose=0)
    )


def test_a_quantized_classifier_survives_a_keras_file(quantized, tmp_path):
    quantized.save(tmp_path / "classifier.keras")
    loaded = keras.saving.load_model(tmp_path / "classifier.keras")
    np.testing.assert_array_equal(
        loaded.predict(TEXTS, verbose=0), quantized.predict(TEXTS, verbose=0)
    )
