"""Runs on datasets, and of other models than classifiers, go on after a kill."""

import keras
import numpy as np
import pytest

import kerasbert
from kerasbert.distillation import Distiller, make_student, objectives
from tests.models import killed_runs
from tests.models.killed_runs import LABELS, TEXTS, Killed, assert_same, train


class Rows:
    """Single examples, as a dataset that is read from disk gives them."""

    def __iter__(self):
        return ({"text": t, "label": y} for t, y in zip(TEXTS, LABELS, strict=True))


class ReadyBatches(keras.utils.PyDataset):
    """Tokenized before; Keras shuffles them."""

    def __init__(self):
        super().__init__()
        self._preprocessor = killed_runs.preprocessor()

    def __len__(self):
        return 6

    def __getitem__(self, index):
        rows = slice(4 * index, 4 * index + 4)
        return self._preprocessor(TEXTS[rows]), np.array(LABELS[rows])


def distiller():
    teacher = killed_runs.classifier(num_layers=2)
    student = make_student(teacher, layers=[1])
    return Distiller(teacher, student, [objectives.SoftTargets(), objectives.HiddenStates()])


def masked_lm():
    tokenizer = killed_runs.preprocessor().tokenizer
    preprocessor = kerasbert.MaskedLMPreprocessor(tokenizer, sequence_length=16, buckets=())
    return kerasbert.MaskedLM(kerasbert.Encoder(killed_runs.CONFIG), preprocessor=preprocessor)


@pytest.mark.parametrize(
    "settings",
    [
        {"x": Rows(), "y": None, "steps_per_epoch": 4, "every": 3},
        {"x": ReadyBatches(), "y": None, "batch_size": None, "every": "epoch"},
        {"make": distiller},
        {"make": masked_lm, "y": None},
    ],
    ids=["stream", "ready batches", "distiller", "masks"],
)
def test_it_goes_on(tmp_path, settings):
    expected = train(**settings)
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9], **settings)
    assert_same(train(tmp_path, **settings), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": iter([(TEXTS, LABELS)])}, "generator cannot go on"),
        ({"x": ReadyBatches(), "every": 2}, "at the beginning of an epoch only"),
        ({"x": ReadyBatches(), "every": "epoch", "steps_per_epoch": 2}, "steps_per_epoch=2"),
    ],
    ids=["generator", "steps", "parts of a pass"],
)
def test_data_that_cannot_be_gone_on_with_are_an_error(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        train(tmp_path, y=None, **settings)
    assert list(tmp_path.iterdir()) == []
