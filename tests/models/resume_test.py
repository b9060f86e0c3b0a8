"""A run that is killed and called again ends as one that was not, bit for bit."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import kerasbert
from kerasbert import tuning
from kerasbert.distillation import Distiller, make_student, objectives
from tests.models import killed_runs
from tests.models.killed_runs import LABELS, TEXTS, Killed, train

ROOT = Path(__file__).resolve().parents[2]


def assert_same(found, expected):
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


def state_names(folder):
    return sorted(path.name for path in folder.glob("state_*"))


@pytest.fixture(scope="module")
def undisturbed():
    return train()


class CountsBatches(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self._count = 0

    def on_train_batch_end(self, batch, logs=None):
        self._count += 1

    def state(self):
        return {}

    def set_state(self, state):
        """Counts those of its own process."""

    @property
    def count(self):
        return self._count


# In processes


def run_process(out, expected_code, **settings):
    result = subprocess.run(
        [sys.executable, "-m", "tests.models.killed_runs", str(out), json.dumps(settings)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == expected_code, result.stderr[-3000:]
    return result.stdout


def test_killed_processes_end_as_one_that_lived(tmp_path):
    """Killed in an epoch, then between two, where weights must come back from before the kills."""
    out, folder = tmp_path / "found.npz", tmp_path / "run"
    run_process(out, -signal.SIGKILL, folder=str(folder), die=["batch", 5])
    run_process(out, -signal.SIGKILL, folder=str(folder), die=["begin", 2])
    assert not out.exists()
    run_process(out, 0, folder=str(folder))
    expected = killed_runs.with_everything()
    assert len(expected["history loss"]) == 3
    with np.load(out) as found:
        assert_same(dict(found), expected)


# In one process, each time with a new model


@pytest.mark.parametrize(
    "place",
    [
        ["batch", 1],  # before the first state
        ["batch", 9],  # with a state of the batch before
        ["end", 2],  # all steps are done, but the last epoch's end is not
        ["train end"],  # all is done but the last state
    ],
    ids=lambda place: " ".join(map(str, place)),
)
def test_wherever_it_was_killed(tmp_path, undisturbed, place):
    with pytest.raises(Killed):
        train(tmp_path, place)
    assert_same(train(tmp_path), undisturbed)
    assert len(state_names(tmp_path)) <= 2


def test_again_and_again(tmp_path, undisturbed):
    for _ in range(3):
        with pytest.raises(Killed):
            train(tmp_path, ["batch", 4], every=1)
    assert_same(train(tmp_path, every=1), undisturbed)


def test_a_line_says_where_it_goes_on(tmp_path, capsys):
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9])
    counts = CountsBatches()
    train(tmp_path, callbacks=[counts], verbose=2)
    assert f"The run in {tmp_path} goes on at epoch 2, batch 3." in capsys.readouterr().out
    assert counts.count == 18 - 8


def test_a_finished_run_gives_its_weights_and_history_back(tmp_path, undisturbed, capsys):
    train(tmp_path)
    counts = CountsBatches()
    assert_same(train(tmp_path, callbacks=[counts]), undisturbed)
    assert counts.count == 0
    train(tmp_path, verbose=2)
    assert f"The run in {tmp_path} is finished" in capsys.readouterr().out


def test_a_finished_run_at_a_constant_rate_takes_more_epochs(tmp_path):
    settings = {"optimizer": lambda: keras.optimizers.Adam(0.01)}
    train(tmp_path, epochs=1, **settings)
    assert_same(train(tmp_path, epochs=2, **settings), train(epochs=2, **settings))


def test_a_run_that_a_callback_stopped_is_finished(tmp_path):
    def stopping():  # the loss of the first epoch is never undercut by that much
        return keras.callbacks.EarlyStopping(
            "loss", patience=1, min_delta=100, restore_best_weights=True
        )

    settings = {"optimizer": lambda: keras.optimizers.Adam(0.01), "epochs": 9}
    expected = train(callbacks=[stopping()], **settings)
    assert len(expected["history loss"]) == 2
    with pytest.raises(Killed):  # between the last epoch and the end, where weights are put back
        train(tmp_path, ["train end"], callbacks=[stopping()], **settings)
    for epochs in (9, 10):
        found = train(tmp_path, callbacks=[stopping()], **{**settings, "epochs": epochs})
        assert_same(found, expected)


def test_ctrl_c_waits_for_the_step_and_its_state(tmp_path, undisturbed, capsys):
    with pytest.raises(KeyboardInterrupt):
        train(
            tmp_path, ["batch", 9], every="epoch", death=lambda: signal.raise_signal(signal.SIGINT)
        )
    assert f"Stopping when the state is written to {tmp_path}" in capsys.readouterr().out
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert_same(train(tmp_path, every="epoch", verbose=2), undisturbed)
    assert "goes on at epoch 2, batch 4." in capsys.readouterr().out


def test_best_weights_of_before_the_kill_come_back(tmp_path):
    """Validation gets worse from epoch to epoch, as training goes uphill."""

    def settings():
        return {
            "optimizer": lambda: keras.optimizers.SGD(-0.5),
            "validation_data": (TEXTS, LABELS),
            "callbacks": [tuning.KeepBest()],
        }

    expected = train(**settings())
    losses = expected["history val_loss"]
    assert losses[0] == min(losses)
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9], **settings())
    found = train(tmp_path, **settings())
    assert_same(found, expected)
    first = train(epochs=1, **settings())  # constant rate: the same first epoch
    for name in first:
        if name.endswith(("kernel", "bias", "embeddings")):
            np.testing.assert_array_equal(found[name], first[name])


class Poison(keras.callbacks.Callback):
    """Makes the weights NaN in the last epoch."""

    def on_epoch_begin(self, epoch, logs=None):
        if epoch == 2:
            variable = self.model.trainable_variables[0]
            variable.assign(keras.ops.full(variable.shape, float("nan")))


def test_the_guard_against_nan_knows_the_best_weights_of_before_the_kill(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9])
    with pytest.raises(FloatingPointError, match=r"The weights of epoch [12] were put back"):
        train(tmp_path, callbacks=[Poison()])
    # What is not finite is never written: the run can still go on.
    assert_same(train(tmp_path), train())


# Damage


@pytest.mark.parametrize("damage", ["truncated", "one byte", "empty"])
def test_a_damaged_state_is_passed_over_with_a_warning(tmp_path, undisturbed, damage):
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9])
    newest = tmp_path / state_names(tmp_path)[-1]
    content = newest.read_bytes()
    middle = len(content) // 2
    flipped = bytes([content[middle] ^ 1])
    newest.write_bytes(
        {
            "truncated": content[:middle],
            "one byte": content[:middle] + flipped + content[middle + 1 :],
            "empty": b"",
        }[damage]
    )
    with pytest.warns(UserWarning, match=f"{newest.name} is damaged and was passed over"):
        found = train(tmp_path)
    assert_same(found, undisturbed)


def test_a_run_without_a_readable_state_is_not_begun_anew(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9])
    for name in state_names(tmp_path):
        (tmp_path / name).write_bytes(b"no state")
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
        train(folder, ["batch", 9])
    return folder


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": [*TEXTS[:-1], "another text"]}, "data: .*, before: "),
        ({"y": [1 - label for label in LABELS]}, "data: .*, before: "),
        ({"sample_weight": np.arange(22)}, "data: .*, before: "),
        ({"batch_size": 5}, "steps of an epoch: 5, before: 6; batch_size: 5, before: 4"),
        ({"shuffle": False}, "shuffle: False, before: True"),
        ({"make": lambda: killed_runs.classifier(hidden_dim=12)}, "model: .*, before: "),
        ({"optimizer": lambda: keras.optimizers.SGD(0.1)}, "optimizer: SGD, before: AdamW"),
        ({"optimizer": lambda: tuning.optimizer(learning_rate=0.1)}, "learning rates: .*, before"),
        ({"epochs": 4}, "another number of them.*Received: epochs=4, before: epochs=3"),
        ({"callbacks": [tuning.Checkpoint("twice")]}, "one `Checkpoint`. Received: 2 of them"),
    ],
)
def test_another_run_is_refused(folder, settings, message):
    before = state_names(folder)
    with pytest.raises(ValueError, match=message):
        train(folder, **settings)
    assert state_names(folder) == before


def test_fewer_epochs_than_are_done_are_refused(tmp_path):
    settings = {"optimizer": lambda: keras.optimizers.Adam(0.01)}
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9], **settings)
    with pytest.raises(ValueError, match=r"Received: epochs=1; epoch 1 is done"):
        train(tmp_path, epochs=1, **settings)


def test_a_folder_serves_one_process_at_a_time(tmp_path):
    hold = "import fcntl, sys; f = open('lock', 'w'); fcntl.lockf(f, fcntl.LOCK_EX); print(1)"
    other = subprocess.Popen(
        [sys.executable, "-uc", f"{hold}; sys.stdin.read()"],
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    other.stdout.readline()
    try:
        with pytest.raises(ValueError, match="Another process trains with this folder"):
            train(tmp_path)
    finally:
        other.communicate()
    train(tmp_path, epochs=1)


# Datasets


class Rows:
    """Single examples, as a dataset that is read from disk gives them."""

    def __iter__(self):
        return ({"text": t, "label": y} for t, y in zip(TEXTS, LABELS, strict=True))


class Texts:
    """Texts without labels."""

    def __iter__(self):
        return iter(TEXTS)


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


@pytest.mark.parametrize("steps", [None, 4], ids=["whole passes", "four steps of each pass"])
def test_a_stream_goes_on_where_it_was(tmp_path, steps):
    settings = {"y": None, "steps_per_epoch": steps}
    expected = train(x=Rows(), **settings)
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 7], x=Rows(), every=3, **settings)
    assert_same(train(tmp_path, x=Rows(), every=3, **settings), expected)


def test_steps_of_lists_go_on_over_passes(tmp_path):
    settings = {"steps_per_epoch": 4}
    expected = train(**settings)
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 7], every=3, **settings)
    assert_same(train(tmp_path, every=3, **settings), expected)


def test_ready_batches_go_on_at_an_epoch(tmp_path):
    settings = {"y": None, "every": "epoch", "batch_size": None}
    expected = train(x=ReadyBatches(), **settings)
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9], x=ReadyBatches(), **settings)
    assert_same(train(tmp_path, x=ReadyBatches(), **settings), expected)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"x": iter([(TEXTS, LABELS)])}, "generator cannot go on"),
        ({"x": ReadyBatches(), "every": 2}, "at the beginning of an epoch only"),
        ({"x": ReadyBatches(), "every": "epoch", "steps_per_epoch": 2}, "steps_per_epoch=2"),
    ],
    ids=["generator", "steps", "parts"],
)
def test_data_that_cannot_be_gone_on_with_are_an_error(tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        train(tmp_path, y=None, **settings)
    assert state_names(tmp_path) == []


# Other models


def test_a_distiller_goes_on(tmp_path):
    def make():
        teacher = killed_runs.classifier(num_layers=2)
        student = make_student(teacher, layers=[1])
        return Distiller(
            teacher, student, [objectives.SoftTargets(temperature=2.0), objectives.HiddenStates()]
        )

    expected = train(make=make)
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9], make=make)
    assert_same(train(tmp_path, make=make), expected)


@pytest.mark.parametrize("x", [TEXTS, Texts()], ids=["list", "stream"])
@pytest.mark.parametrize("seed", [None, 3])
def test_masks_are_those_that_would_have_been(tmp_path, x, seed):
    def make():
        return kerasbert.MaskedLM(
            kerasbert.Encoder(killed_runs.CONFIG),
            preprocessor=kerasbert.MaskedLMPreprocessor(
                killed_runs.preprocessor().tokenizer, sequence_length=16, buckets=(), seed=seed
            ),
        )

    settings = {"x": x, "y": None, "make": make}
    expected = train(**settings)
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9], **settings)
    assert_same(train(tmp_path, **settings), expected)


def test_layers_unfreeze_where_they_would_have(tmp_path):
    def make():
        return killed_runs.classifier(num_layers=2)

    def settings():
        return {"make": make, "callbacks": [tuning.GradualUnfreezing()]}

    expected = train(**settings())
    with pytest.raises(Killed):
        train(tmp_path, ["batch", 9], **settings())
    assert_same(train(tmp_path, **settings()), expected)


def test_models_of_others_are_an_error(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    checkpoint = tuning.Checkpoint(tmp_path)
    with pytest.raises(ValueError, match="in `fit` of kerasbert's models"):
        model.fit(np.zeros((2, 2)), np.zeros((2, 1)), callbacks=[checkpoint], verbose=0)
