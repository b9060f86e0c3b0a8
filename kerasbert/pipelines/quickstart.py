"""The main job: fine-tune a teacher, distill a student, export it, measure all of them."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import keras

from kerasbert import tuning
from kerasbert.data import LabelledTexts
from kerasbert.data.files import atomic_write, ensure_writable_folder
from kerasbert.distillation import Distiller, make_student
from kerasbert.distillation.objectives import SoftTargets
from kerasbert.export import litert_variants
from kerasbert.models import TextClassifier
from kerasbert.pipelines import checking, measuring
from kerasbert.pipelines.conclusion import RunFacts, conclusion, facts, file_to_ship
from kerasbert.pipelines.picture import draw
from kerasbert.pipelines.report import Row, markdown_report, table
from kerasbert.pipelines.stages import Stages

TEACHER, STUDENT = "teacher", "student"
FLOAT32_FILE, INT8_FILE = "student_float32.tflite", "student_int8.tflite"
REPORT_FILE, PICTURE_FILE = "report.md", "report.png"


@dataclass(frozen=True)
class QuickstartSettings:
    """How the quickstart trains.

    Args:
        teacher: A preset of an encoder with more than `student_layers` layers; None (default) for
            the one that the extra `demo` brings.
        seed: Of weights, dropout and shuffling. Defaults to 42.
        batch_size: Defaults to 32.
        teacher_epochs: None (default) for 5, or more where that makes fewer than 200 steps.
        student_epochs: None (default) for 6, or more where that makes fewer than 300 steps.
        teacher_learning_rate: Peak of the schedule. Defaults to 1.5e-4.
        student_learning_rate: Defaults to 3e-4.
        student_layers: How many of the teacher's layers the student keeps. Defaults to 3.
        temperature: Of the soft targets. Defaults to 2.0.

    Raises:
        ValueError: A number is out of range.
    """

    teacher: str | None = None
    seed: int = 42
    batch_size: int = 32
    teacher_epochs: int | None = None
    student_epochs: int | None = None
    teacher_learning_rate: float = 1.5e-4
    student_learning_rate: float = 3e-4
    student_layers: int = 3
    temperature: float = 2.0

    def __post_init__(self):
        for name, value in asdict(self).items():
            positive = not isinstance(value, int | float) or value > 0
            if not positive and not (name == "seed" and value == 0):
                raise ValueError(f"`{name}` must be positive. Received: {name}={value}")


def run_quickstart(
    train: LabelledTexts,
    evaluation: LabelledTexts,
    output: str | Path,
    settings: QuickstartSettings | None = None,
    data_name: str = "",
    say: Callable[[str], None] = print,
) -> list[Row]:
    """Runs the main job, or what an earlier run into the same folder has left to do.

    The evaluation data is used for nothing but the measurements. What is written:

        teacher/, student/        presets
        student_float32.tflite    the student, with vocabulary and labels inside
        student_int8.tflite       the same with 8-bit weights (dynamic range)
        report.md, report.png     the table and the picture
        stages.json               what is finished

    Args:
        train: Texts to train on.
        evaluation: Texts to measure on; their labels occur in `train`.
        output: The folder to write to.
        settings: None (default) for the default settings.
        data_name: What the report calls the data.
        say: Called with what is printed. Defaults to `print`.

    Returns:
        The rows of the table: teacher, student, float32 file, 8-bit file.

    Raises:
        ValueError: The data or the settings do not make sense together.
        OSError: The folder cannot be written to; said before any work.
        ImportError: A package of the extras `demo` and `export` is missing; said before any work.

    Example:

    ```python
    from kerasbert.data import load_sample
    from kerasbert.pipelines import run_quickstart

    rows = run_quickstart(load_sample("train"), load_sample("test"), "kerasbert-quickstart")
    ```
    """
    return Quickstart(train, evaluation, output, settings, data_name, say).run()


class Quickstart:
    """One run of the quickstart; see `run_quickstart`."""

    def __init__(self, train, evaluation, output, settings=None, data_name="", say=print):
        self.settings = settings or QuickstartSettings()
        checking.check_packages()
        checking.check_data(train, evaluation)
        self.teacher_preset, self._teacher_identity = checking.find_teacher(self.settings.teacher)
        self.train, self.evaluation, self.data_name = train, evaluation, data_name
        self.folder = ensure_writable_folder(output)
        checking.check_folder_is_ours(
            self.folder, (TEACHER, STUDENT, FLOAT32_FILE, INT8_FILE, REPORT_FILE, PICTURE_FILE)
        )
        self.say = say
        self.stages = Stages(self.folder, say)

    def run(self) -> list[Row]:
        """Runs what is not finished, writes the report and prints it."""
        self._run_stage(TEACHER, self._make_teacher, [TEACHER])
        self._run_stage(STUDENT, self._make_student, [STUDENT])
        export = self._run_stage("export", self._export, [FLOAT32_FILE, INT8_FILE])
        measured = self._run_stage("measure", self._measure)
        rows = [Row(**values) for values in measured["rows"]]
        self._report(rows, export, measured["machine"])
        return rows

    def _run_stage(self, name, make, outputs=()):
        return self.stages.run(name, self._stage_settings()[name], make, outputs)

    def _stage_settings(self) -> dict[str, dict]:
        settings = self.settings
        return {
            TEACHER: {
                "version": checking.versions(),
                "encoder": self._teacher_identity,
                "data": checking.data_fingerprint(self.train),
                "seed": settings.seed,
                "batch_size": settings.batch_size,
                "epochs": self.teacher_epochs,
                "learning_rate": settings.teacher_learning_rate,
            },
            STUDENT: {
                "layers": settings.student_layers,
                "temperature": settings.temperature,
                "epochs": self.student_epochs,
                "learning_rate": settings.student_learning_rate,
            },
            "export": {},
            "measure": {"data": checking.data_fingerprint(self.evaluation)},
        }

    @property
    def teacher_epochs(self) -> int:
        """Passes over the data that the teacher trains for."""
        return self.settings.teacher_epochs or self._epochs(at_least=5, steps=200)

    @property
    def student_epochs(self) -> int:
        """Passes over the data that the student trains for."""
        return self.settings.student_epochs or self._epochs(at_least=6, steps=300)

    def _epochs(self, at_least: int, steps: int) -> int:
        steps_per_epoch = math.ceil(len(self.train) / self.settings.batch_size)
        return max(at_least, math.ceil(steps / steps_per_epoch))

    def _make_teacher(self) -> dict:
        keras.utils.set_random_seed(self.settings.seed)
        labels = sorted(set(self.train.labels))
        teacher = TextClassifier.from_preset(self.teacher_preset, labels=labels, pooling="mean")
        checking.check_depth(teacher, self.settings.student_layers)
        teacher.compile(
            optimizer=tuning.optimizer(learning_rate=self.settings.teacher_learning_rate)
        )
        self._fit(teacher, self.teacher_epochs)
        teacher.save_to_preset(str(self.folder / TEACHER))
        return {}

    def _make_student(self) -> dict:
        keras.utils.set_random_seed(self.settings.seed)
        teacher = self._load(TEACHER)
        student = make_student(teacher, num_layers=self.settings.student_layers)
        # The labels are left out: a fine-tuned teacher says more about each text than its label.
        distiller = Distiller(
            teacher, student, [SoftTargets(self.settings.temperature)], label_weight=0.0
        )
        distiller.compile(
            optimizer=tuning.optimizer(learning_rate=self.settings.student_learning_rate)
        )
        self._fit(distiller, self.student_epochs)
        student.save_to_preset(str(self.folder / STUDENT))
        return {}

    def _fit(self, model, epochs: int) -> None:
        model.fit(
            self.train.inputs(),
            self.train.labels,
            epochs=epochs,
            batch_size=self.settings.batch_size,
            verbose=1 if sys.stdout.isatty() else 2,
        )

    def _export(self) -> dict:
        student = self._load(STUDENT)
        # For texts of any length: none is cut, and a short one is not computed as a long one;
        # on short requests such a file is twice as fast as one that pads to 32 tokens.
        float32, _ = litert_variants(
            student,
            {self.folder / FLOAT32_FILE: None, self.folder / INT8_FILE: "dynamic_int8"},
            sequence_length=None,
        )
        return {"max_difference": float32.max_difference}

    def _measure(self) -> dict:
        rows = []
        for name in (TEACHER, STUDENT):
            task = self._load(name)
            rows.append(measuring.measure_task(name, task, self.folder / name, self.evaluation))
        for name, file in (("float32 .tflite", FLOAT32_FILE), ("8-bit .tflite", INT8_FILE)):
            path = self.folder / file
            rows.append(measuring.measure_litert(f"student {name}", path, task, self.evaluation))
        return {"rows": [asdict(row) for row in rows], "machine": checking.machine()}

    def _load(self, name: str) -> TextClassifier:
        return TextClassifier.from_preset(str(self.folder / name))

    def _report(self, rows: list[Row], export: dict, machine: str) -> None:
        examples, shipped = len(self.evaluation), file_to_ship(*rows[1:])
        draw(rows, self.folder / PICTURE_FILE, examples, highlight=shipped)
        sentences = conclusion(*rows, examples=examples)
        run = RunFacts(
            data=checking.describe_data(self.train, self.evaluation, self.data_name),
            epochs=(self.teacher_epochs, self.student_epochs),
            max_difference=export["max_difference"],
            machine=machine,
            seconds=self.stages.seconds,
        )
        text = markdown_report("Quickstart", rows, sentences, facts(rows, run), PICTURE_FILE)
        with atomic_write(self.folder / REPORT_FILE, "w") as file:
            file.write(text)
        self.say(f"\n{table(rows)}\n\n{sentences}\n\nEverything is in {self.folder}")
