"""A run that is killed and called again ends as one that was not, bit for bit."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

from kerasbert import tuning
from tests.models import killed_runs
from tests.models.killed_runs import LABELS, TEXTS, Killed, assert_same, recipe, train

ROOT = Path(__file__).resolve().parents[2]


def states(folder):
    return sorted(folder.glob("state_*"))


@pytest.fixture(scope="module")
def undisturbed():
    return train()


class CountsBatches(keras.callbacks.Callback):
    """Counts those of its own process: what is not public is not part of a state."""

    def __init__(self):
        super().__init__()
        self._count = 0

    def on_train_batch_end(self, batch, logs=None):
        self._count += 1

    @property
    def count(self):
        return self._count


# In processes of their own


def run_process(out, expected_code, **settings):
    result = subprocess.run(
        [sys.executable, "-m", "tests.models.killed_runs", str(out), json.dumps(settings)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert result.returncode == expected_code, result.stderr[-3000:]


def test_a_killed_process_ends_as_one_that_lived(tmp_path):
    out, folder = tmp_path / "found.npz", tmp_path / "run"
    run_process(out, -signal.SIGKILL, folder=str(folder), die=["batch", 9])
    assert not out.exists()
    run_process(out, 0, folder=str(folder))
    with np.load(out) as found:
        assert_same(dict(found), killed_runs.with_everything())


# In one process, each time with a new model


def test_wherever_it_is_killed_it_goes_on(tmp_path, undisturbed, capsys):
    folder = tmp_path / "run"
    places = [
        ["batch", 1],  # before the first state
        ["batch", 9],  # in the second epoch, with a state of the batch before
        ["begin", 2],  # in between
        ["end", 2],  # all steps are done, but the end of the last epoch is not
        ["train end"],  # all is done but the last state
    ]
    counts = []
    for place in places:
        counts.append(CountsBatches())
        with pytest.raises(Killed):
            train(folder, place, callbacks=[counts[-1]], verbose=2)
        assert len(states(folder)) <= 2
    counts.append(CountsBatches())
    assert_same(train(folder, callbacks=[counts[-1]]), undisturbed)
    assert [each.count for each in counts] == [1, 9, 4, 6, 2, 0]
    printed = capsys.readouterr().out
    where = ["epoch 2, batch 3", "epoch 3, batch 1", "epoch 3, batch 5"]
    assert printed.count("goes on at") == len(where)
    assert all(f"The run in {folder} goes on at {each}." in printed for each in where)


def test_a_finished_run_gives_its_weights_and_history_back_or_takes_more_epochs(
    tmp_path, undisturbed, capsys
):
    train(tmp_path, epochs=1)
    assert_same(train(tmp_path), undisturbed)
    counts = CountsBatches()
    assert_same(train(tmp_path, callbacks=[counts], verbose=2), undisturbed)
    assert counts.count == 0
    assert f"The run in {tmp_path} is finished" in capsys.readouterr().out
    with pytest.raises(ValueError, match="Received: epochs=2; epoch 3 is done"):
        train(tmp_path, epochs=2)


def test_a_run_that_a_callback_stopped_is_finished(tmp_path):
    """Killed after the best epoch, and where all but the last is done: putting weights back."""

    def settings():
        # Training goes uphill: the first epoch is the best, the second ends the run.
        return {
            "optimizer": lambda: keras.optimizers.SGD(-0.5),
            "callbacks": [
                keras.callbacks.EarlyStopping("loss", patience=1, restore_best_weights=True)
            ],
            "epochs": 9,
        }

    expected = train(**settings())
    assert len(expected["history loss"]) == 2
    for place in (["batch", 9], ["train end"]):
        with pytest.raises(Killed):
            train(tmp_path, place, **settings())
    for epochs in (9, 10):
        assert_same(train(tmp_path, **{**settings(), "epochs": epochs}), expected)


def test_ctrl_c_waits_for_the_step_and_its_state(tmp_path, undisturbed, capsys):
    def interrupt():
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, ["batch", 9], every="epoch", death=interrupt)
    assert f"Stopping when the state is written to {tmp_path}" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_same(train(tmp_path, every="epoch", verbose=2), undisturbed)
    assert "goes on at epoch 2, batch 4." in capsys.readouterr().out


class Poison(keras.callbacks.Callback):
    """Makes the weights NaN in the last epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            variable = self.model.trainable_variables[0]
            variable.assign(keras.ops.full(variable.shape, float("nan")))


def test_damaged_states_and_broken_weights_are_passed_over(tmp_path, undisturbed):
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 11])
    newest = states(tmp_path)[-1]
    newest.write_bytes(newest.read_bytes()[:-100])
    with (
        pytest.warns(UserWarning, match=f"{newest.name} is damaged and was passed over"),
        pytest.raises(FloatingPointError, match=r"The weights of epoch [12] were put back"),
    ):
        train(tmp_path, callbacks=[Poison()])
    # The guard knew the weights of before the kill, and no state with NaN was written.
    assert_same(train(tmp_path), undisturbed)


def test_a_run_without_a_readable_state_is_not_begun_anew(tmp_path):
    (tmp_path / "state_00000001.npz").write_bytes(b"no state")
    with (
        pytest.warns(UserWarning, match="damaged"),
        pytest.raises(ValueError, match="No state of this run can be read"),
    ):
        train(tmp_path)


# Other runs


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    with pytest.raises(Killed):
        train(folder, ["batch", 3], optimizer=recipe)
    return folder


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": [*TEXTS[:-1], "another text"]}, r"Received: data: \w+, before: \w+\."),
        ({"y": [1 - label for label in LABELS]}, r"Received: data: \w+, before: \w+\."),
        ({"sample_weight": np.arange(22)}, r"Received: data: \w+, before: \w+\."),
        ({"batch_size": 5}, "steps of an epoch: 5, before: 6; batch_size: 5, before: 4"),
        ({"shuffle": False}, "Received: shuffle: False, before: True"),
        ({"make": lambda: killed_runs.classifier(hidden_dim=12)}, "Received: model: .*, before: "),
        ({"optimizer": killed_runs.plain}, "optimizer: SGD, before: AdamW"),
        ({"optimizer": lambda: recipe(cycles=2)}, "Received: learning rates: .*, before: "),
        ({"epochs": 4}, "another number of them.*Received: epochs=4, before: epochs=3"),
        ({"initial_epoch": 1}, "first epoch: 1, before: 0"),
        ({"callbacks": [tuning.Checkpoint("twice")]}, r"one `Checkpoint`\. Received: 2 of them"),
    ],
)
def test_another_run_is_refused(folder, settings, message):
    before = [path.read_bytes() for path in states(folder)]
    with pytest.raises(ValueError, match=message):
        train(folder, **{"optimizer": recipe, **settings})
    assert [path.read_bytes() for path in states(folder)] == before


def test_models_of_others_are_an_error(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    checkpoint = tuning.Checkpoint(tmp_path)
    with pytest.raises(ValueError, match="in `fit` of kerasbert's models"):
        model.fit(np.zeros((2, 2)), np.zeros((2, 1)), callbacks=[checkpoint], verbose=0)
