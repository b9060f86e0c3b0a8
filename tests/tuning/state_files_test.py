"""States of runs on disk: what is read is what was written, or is not read at all."""

import math

import keras
import numpy as np
import pytest

from kerasbert.tuning.state_files import StateFiles


@pytest.fixture
def files(tmp_path):
    files = StateFiles(tmp_path / "run")
    with files.locked():
        yield files


def names(files):
    return sorted(path.name for path in files._folder.glob("*.npz"))


def test_what_is_read_is_what_was_written(files):
    state = {
        "epoch": 3,
        "best": -math.inf,
        "score": np.float32(0.25),
        "nothing": None,
        "is_finished": False,
        "names": ["a", ["b"]],
        "float32": np.arange(6, dtype="float32").reshape(2, 3),
        "bfloat16": keras.ops.convert_to_numpy(keras.ops.cast([1.5, -2.0], "bfloat16")),
        "scalar": np.array(7, "int64"),
        "empty": np.zeros((0, 3)),
        "lists": [np.array([True, False]), {"inner": np.array([1, 2], "uint32")}],
    }
    files.write(state)
    (found,) = files.states()
    assert found.keys() == state.keys()
    for name in ("epoch", "best", "score", "nothing", "is_finished", "names"):
        assert found[name] == state[name]
    pairs = [(found[n], state[n]) for n in ("float32", "bfloat16", "scalar", "empty")]
    pairs.append((found["lists"][0], state["lists"][0]))
    pairs.append((found["lists"][1]["inner"], state["lists"][1]["inner"]))
    for one, other in pairs:
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def test_equal_arrays_are_written_once(files):
    large = np.random.default_rng(0).random(10_000)
    files.write({"model": [large], "best": [large.copy()]})
    (path,) = files._folder.glob("*.npz")
    assert path.stat().st_size < 1.5 * large.nbytes
    (state,) = files.states()
    np.testing.assert_array_equal(state["best"][0], large)


def test_the_newest_two_are_kept_newest_first(files):
    for number in range(4):
        files.write({"number": number})
    assert [state["number"] for state in files.states()] == [3, 2]
    assert len(names(files)) == 2


def test_an_error_while_writing_leaves_the_states_as_they_were(files):
    files.write({"number": 1})
    before = names(files)
    with pytest.raises(TypeError):
        files.write({"number": 2, "broken": object()})
    assert names(files) == before


def test_what_a_killed_process_left_half_written_goes(tmp_path):
    files = StateFiles(tmp_path)
    (tmp_path / ".state_00000001-0123456789ab.npz").write_bytes(b"half")
    with files.locked():
        assert list(tmp_path.glob(".*")) == []


def test_a_state_of_a_later_format_is_not_read(files, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("kerasbert.tuning.state_files._FORMAT", 99)
        files.write({"number": 1})
    with (
        pytest.warns(UserWarning, match="its format is 99"),
        pytest.raises(ValueError, match="No state of this run can be read"),
    ):
        list(files.states())


def test_nothing_written_gives_no_states(files):
    assert list(files.states()) == []
