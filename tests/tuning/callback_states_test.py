"""What is kept of callbacks for another process."""

import keras
import numpy as np
import pytest

from kerasbert.tuning.callback_states import set_states, states_of


class KeepsItsOwn(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self._secret = 0

    def state(self):
        return {"secret": self._secret}

    def set_state(self, state):
        self._secret = state["secret"]


def test_public_plain_attributes_are_kept_and_arguments_are_not():
    before = keras.callbacks.EarlyStopping(patience=3)
    before.on_train_begin()
    before.best, before.wait, before.best_weights = 0.5, 2, [np.ones(3)]
    after = keras.callbacks.EarlyStopping(patience=9)
    after.on_train_begin()
    set_states([after], states_of([before]))
    assert (after.best, after.wait, after.patience) == (0.5, 2, 9)
    np.testing.assert_array_equal(after.best_weights[0], np.ones(3))


def test_what_is_not_plain_is_left_alone():
    before, after = keras.callbacks.Callback(), keras.callbacks.Callback()
    before.helper, before.found = object(), {"a": [1, "b", None]}
    after.helper = kept = object()
    set_states([after], states_of([before]))
    assert after.helper is kept
    assert after.found == {"a": [1, "b", None]}


def test_a_callback_may_say_itself_what_is_kept():
    before, after = KeepsItsOwn(), KeepsItsOwn()
    before._secret = 5
    set_states([after], states_of([before]))
    assert after._secret == 5


def test_several_of_a_class_are_told_apart_by_their_order():
    callbacks = [KeepsItsOwn(), KeepsItsOwn()]
    callbacks[0]._secret, callbacks[1]._secret = 1, 2
    again = [KeepsItsOwn(), KeepsItsOwn()]
    set_states(again, states_of(callbacks))
    assert [each._secret for each in again] == [1, 2]


def test_other_callbacks_than_before_are_a_warning():
    states = states_of([KeepsItsOwn()])
    with pytest.warns(UserWarning, match=r"Received: \['History 1'\], before: \['KeepsItsOwn 1'\]"):
        set_states([keras.callbacks.History()], states)
