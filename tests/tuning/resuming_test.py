"""`Checkpoint`'s arguments and its place among callbacks; tests/models/resume_test.py has runs."""

import keras
import pytest

from kerasbert.tuning import Checkpoint, EpochScores
from kerasbert.tuning.resuming import arranged


@pytest.mark.parametrize("every", [0, -1, 2.0, "step", None, True])
def test_senseless_intervals_are_errors(tmp_path, every):
    with pytest.raises(ValueError, match="`every` must be"):
        Checkpoint(tmp_path, every=every)


def test_scores_come_first_and_the_checkpoint_last_after_the_history(tmp_path):
    checkpoint, scores = Checkpoint(tmp_path), EpochScores(lambda model: {})
    others = [keras.callbacks.TerminateOnNaN(), keras.callbacks.EarlyStopping()]
    *found, history, last = arranged([checkpoint, others[0], scores, others[1]])
    assert found == [scores, *others]
    assert isinstance(history, keras.callbacks.History)
    assert last is checkpoint


def test_a_history_that_is_there_is_the_one(tmp_path):
    checkpoint, history = Checkpoint(tmp_path), keras.callbacks.History()
    assert arranged([checkpoint, history]) == [history, checkpoint]


def test_nothing_is_added_without_a_checkpoint():
    callbacks = [keras.callbacks.EarlyStopping()]
    assert arranged(callbacks) == callbacks
