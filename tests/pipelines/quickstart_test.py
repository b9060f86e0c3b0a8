import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

import kerasbert
from kerasbert.data import LabelledTexts, load_sample
from kerasbert.export import LiteRTClassifier
from kerasbert.pipelines import QuickstartSettings, run_quickstart
from kerasbert.pipelines import quickstart as module
from kerasbert.pipelines.quickstart import Quickstart
from kerasbert.pipelines.report import table

STAGES = ["teacher", "student", "export", "measure"]


def stages_that_ran(job) -> list[str]:
    """Runs a job and lists the stages that were not kept from an earlier run."""
    lines = []
    job.say = job.stages._say = lines.append
    job.run()
    return [line.split(":")[0] for line in lines if line.endswith(": started")]


def accuracy(labels, evaluation) -> float:
    return float(np.mean([a == b for a, b in zip(labels, evaluation.labels, strict=True)]))


def read_rows(folder: Path) -> list[dict]:
    return json.loads((folder / "stages.json").read_text())["measure"]["result"]["rows"]


def test_everything_is_written(finished_run):
    names = {path.name for path in finished_run.iterdir()}
    assert names == {
        "teacher",
        "student",
        "student_float32.tflite",
        "student_int8.tflite",
        "report.md",
        "report.png",
        "stages.json",
    }
    assert (finished_run / "report.png").read_bytes().startswith(b"\x89PNG")


def test_the_student_has_three_layers_and_the_labels_of_the_data(finished_run):
    student = kerasbert.TextClassifier.from_preset(finished_run / "student")
    assert student.backbone.config.num_layers == 3
    assert student.labels == ["alarm", "music", "weather"]


def test_the_files_carry_the_labels(finished_run):
    for name in ("student_float32.tflite", "student_int8.tflite"):
        assert LiteRTClassifier(finished_run / name).labels == ("alarm", "music", "weather")


def test_the_accuracies_are_those_of_the_presets_and_files(finished_run, tiny):
    evaluation, found = tiny.evaluation, []
    for name in ("teacher", "student"):
        task = kerasbert.TextClassifier.from_preset(finished_run / name)
        best = [ranked[0]["label"] for ranked in task.classify(evaluation.texts)]
        found.append(accuracy(best, evaluation))
    for name in ("student_float32.tflite", "student_int8.tflite"):
        runner = LiteRTClassifier(finished_run / name)
        scores = runner.predict_on_batch(task.preprocessor(evaluation.texts))
        found.append(accuracy([runner.labels[at] for at in scores.argmax(axis=-1)], evaluation))
    assert [row["accuracy"] for row in read_rows(finished_run)] == pytest.approx(found)


def test_sizes_and_parameters_are_those_of_the_files_and_models(finished_run):
    rows = read_rows(finished_run)
    assert rows[2]["bytes"] == (finished_run / "student_float32.tflite").stat().st_size
    assert rows[3]["bytes"] == (finished_run / "student_int8.tflite").stat().st_size
    student = kerasbert.TextClassifier.from_preset(finished_run / "student")
    assert [row["parameters"] for row in rows[1:]] == [student.count_params()] * 3


def test_a_second_run_trains_nothing_and_gives_the_same_table(run_copy, tiny, monkeypatch):
    before = (run_copy / "report.md").read_text()
    monkeypatch.setattr(Quickstart, "_fit", lambda *_: pytest.fail("trained again"))
    lines = []
    rows = tiny.job(run_copy, say=lines.append).run()
    assert (run_copy / "report.md").read_text() == before
    assert lines[:4] == [f"{stage}: kept from an earlier run" for stage in STAGES]
    assert table(rows) in before
    assert table(rows) in lines[-1]


def test_another_setting_of_the_student_keeps_the_teacher(run_copy, tiny):
    teacher = (run_copy / "teacher" / "model.weights.h5").read_bytes()
    assert stages_that_ran(tiny.job(run_copy, student_epochs=2)) == STAGES[1:]
    assert (run_copy / "teacher" / "model.weights.h5").read_bytes() == teacher


def test_other_evaluation_data_is_only_measured(run_copy, tiny):
    some = LabelledTexts(tiny.evaluation.texts[:5], tiny.evaluation.labels[:5])
    assert stages_that_ran(tiny.job(run_copy, evaluation=some)) == ["measure"]


@pytest.mark.parametrize("stage", STAGES)
def test_a_changed_setting_makes_its_stage_and_those_after_it_anew(run_copy, tiny, stage, mocked):
    job = tiny.job(run_copy)
    settings = job._stage_settings()
    settings[stage]["changed"] = True
    mocked.setattr(job, "_stage_settings", lambda: settings)
    assert stages_that_ran(job) == STAGES[STAGES.index(stage) :]


@pytest.fixture
def mocked(monkeypatch):
    """Stages that write a line instead of training, exporting and measuring."""
    rows = {}

    def writer(*names):
        def make(job):
            for name in names:
                path = job.folder / name
                if path.is_dir():
                    path = path / "made_anew"
                path.write_text("x")
            return {"max_difference": 0.0}

        return make

    def measure(job):
        rows["rows"] = read_rows_of[str(job.folder)]
        return {**rows, "machine": ""}

    read_rows_of = {}
    init = Quickstart.__init__

    def remember(job, *args, **kwargs):
        init(job, *args, **kwargs)
        read_rows_of[str(job.folder)] = read_rows(job.folder)

    monkeypatch.setattr(Quickstart, "__init__", remember)
    monkeypatch.setattr(Quickstart, "_make_teacher", writer("teacher"))
    monkeypatch.setattr(Quickstart, "_make_student", writer("student"))
    monkeypatch.setattr(Quickstart, "_export", writer(module.FLOAT32_FILE, module.INT8_FILE))
    monkeypatch.setattr(Quickstart, "_measure", measure)
    return monkeypatch
