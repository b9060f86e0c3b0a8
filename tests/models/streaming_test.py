"""Datasets of texts train, evaluate and predict as lists of texts do."""

import keras
import numpy as np
import pytest

import kerasbert
from kerasbert.models.streaming import TextStream

TEXTS = [f"wake me at {hour} please" if hour % 2 else f"play song {hour}" for hour in range(10)]
LABELS = ["alarm" if hour % 2 else "music" for hour in range(10)]


@pytest.fixture(scope="module")
def tokenizer():
    return kerasbert.Tokenizer.train(TEXTS, vocabulary_size=80)


@pytest.fixture
def classifier(tokenizer):
    config = kerasbert.EncoderConfig(
        vocabulary_size=80,
        num_layers=1,
        num_heads=2,
        hidden_dim=16,
        intermediate_dim=32,
        hidden_dropout=0.0,
        attention_dropout=0.0,
    )
    model = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        labels=["alarm", "music"],
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer),
        dropout=0.0,
    )
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=1e-2, warmup=0))
    return model


class Rows:
    """Single examples as dicts, as a Hugging Face dataset gives them."""

    def __len__(self):
        return len(TEXTS)

    def __iter__(self):
        return ({"text": t, "label": y} for t, y in zip(TEXTS, LABELS, strict=True))


class BatchesOfText(keras.utils.PyDataset):
    def __len__(self):
        return 5

    def __getitem__(self, index):
        rows = slice(2 * index, 2 * index + 2)
        return TEXTS[rows], LABELS[rows]


def pairs():
    return list(zip(TEXTS, LABELS, strict=True))


def tf_dataset():
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices((TEXTS, LABELS)).batch(4)


SOURCES = {
    "rows": Rows,
    "PyDataset": BatchesOfText,
    "single pairs": lambda: iter(pairs()),
    "generator of batches": lambda: ((TEXTS[i : i + 3], LABELS[i : i + 3]) for i in (0, 3, 6, 9)),
    "tf.data": tf_dataset,
}


@pytest.mark.parametrize("source", SOURCES)
def test_evaluates_and_predicts_as_a_list_does(classifier, source):
    expected = classifier.evaluate(TEXTS, LABELS, batch_size=10, verbose=0)
    found = classifier.evaluate(SOURCES[source](), verbose=0)
    assert found[1] == pytest.approx(expected[1])  # accuracy, weighted by batch size
    logits = classifier.predict(SOURCES[source](), verbose=0)
    np.testing.assert_allclose(logits, classifier.predict(TEXTS, verbose=0), atol=1e-5)


@pytest.mark.parametrize("source", ["rows", "PyDataset", "tf.data"])
def test_trains_for_several_epochs_with_validation(classifier, source):
    history = classifier.fit(
        SOURCES[source](), epochs=8, batch_size=4, verbose=0, validation_data=SOURCES[source]()
    ).history
    assert len(history["loss"]) == 8
    assert history["loss"][-1] < 0.8 * history["loss"][0]
    assert len(history["val_loss"]) == 8


def test_a_generator_trains_for_one_epoch(classifier):
    before = classifier.evaluate(TEXTS, LABELS, verbose=0)[0]
    history = classifier.fit(SOURCES["generator of batches"](), verbose=0).history
    assert len(history["loss"]) == 1
    assert classifier.evaluate(TEXTS, LABELS, verbose=0)[0] != before


def test_class_weights_reach_the_stream(classifier):
    classifier.compile(optimizer=keras.optimizers.SGD(0.0))
    plain = classifier.fit(BatchesOfText(), verbose=0).history["loss"][0]
    double = classifier.fit(BatchesOfText(), class_weight={"alarm": 2, 1: 2}, verbose=0)
    assert double.history["loss"][0] == pytest.approx(2 * plain, rel=1e-4)


def test_counts_batches_of_one_pass():
    assert TextStream(Rows(), None, batch_size=4).count() == 3
    assert TextStream(BatchesOfText(), None).count() == 5
    assert TextStream(pairs(), None, batch_size=3).count() == 4
    assert TextStream(iter(pairs()), None).count() is None


def test_an_unknown_label_in_a_stream_is_named(classifier):
    with pytest.raises(Exception, match="Unknown label"):
        classifier.fit(iter([(["a text"], ["weather"])]), verbose=0)


class ReadOnce:
    """Looks as if it could be read again, but cannot."""

    def __init__(self):
        self.rows = iter(Rows())

    def __iter__(self):
        return self.rows


def test_a_dataset_that_has_run_dry_is_an_error_and_no_endless_wait(classifier):
    with pytest.raises(Exception, match="can be read only once"):
        classifier.fit(ReadOnce(), steps_per_epoch=1, verbose=0, epochs=20)
