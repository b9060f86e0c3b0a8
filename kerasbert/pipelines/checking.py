"""What the quickstart asks before it works, and what it notes about data and machine."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import keras

import kerasbert
from kerasbert.data import LabelledTexts
from kerasbert.export.requirements import require_installed
from kerasbert.pipelines.demo_weights import SHA256, demo_encoder
from kerasbert.pipelines.hashing import file_sha256, files_in, fingerprint
from kerasbert.pipelines.stages import STATE_FILE

# With fewer, one batch is not even a third full and nothing can be learnt.
MIN_TRAINING_TEXTS = 10


def check_packages() -> None:
    """Raises an `ImportError` where a package for the export or the picture is missing."""
    require_installed("tensorflow", "ai_edge_litert", "flatbuffers")
    hidden = "matplotlib" in sys.modules and sys.modules["matplotlib"] is None
    if hidden or importlib.util.find_spec("matplotlib") is None:
        raise ImportError(
            "The picture needs the package `matplotlib`. Install it with "
            "`pip install kerasbert[demo]`.",
            name="matplotlib",
        )


def check_data(train: LabelledTexts, evaluation: LabelledTexts) -> None:
    """Refuses data that cannot be trained or measured on.

    Raises:
        ValueError: There are too few texts or labels, the evaluation data has labels that the
            training data has not, or only one of the two has pairs.
    """
    known = set(train.labels)
    if len(train) < MIN_TRAINING_TEXTS:
        raise ValueError(
            f"The training data needs at least {MIN_TRAINING_TEXTS} texts. Add examples. "
            f"Received: {len(train)} texts"
        )
    if len(known) < 2:
        raise ValueError(
            "The training data needs at least two different labels. Check the label column. "
            f"Received: labels={sorted(known)}"
        )
    unknown = sorted(set(evaluation.labels) - known)
    if unknown:
        raise ValueError(
            "The evaluation data has labels that the training data does not have. Add training "
            f"examples of them or remove them. Received: {len(unknown)} of them, {unknown[:5]}"
        )
    if (train.text_pairs is None) != (evaluation.text_pairs is None):
        raise ValueError(
            "Both files need the column of second texts, or neither. Received: "
            f"training pairs={train.text_pairs is not None}, "
            f"evaluation pairs={evaluation.text_pairs is not None}"
        )


def check_folder_is_ours(folder: Path, names: Sequence[str]) -> None:
    """Refuses a folder where files that nobody noted as ours would be overwritten."""
    taken = [name for name in names if (folder / name).exists()]
    if taken and not (folder / STATE_FILE).exists():
        raise ValueError(
            "The output folder holds files that would be overwritten and are not of an earlier run "
            "(it has no stages.json). Choose another folder or move them away. "
            f"Received: folder={str(folder)!r} with {taken}"
        )


def check_depth(teacher, student_layers: int) -> None:
    """Refuses a teacher that is no deeper than its student."""
    layers = teacher.backbone.config.num_layers
    if layers <= student_layers:
        raise ValueError(
            f"The teacher needs more layers than the student, which has {student_layers}. Choose "
            f"another encoder. Received: num_layers={layers}"
        )


def find_teacher(preset: str | None) -> tuple[str, str]:
    """The preset to load the teacher from, and what tells it from others, contents included."""
    if preset is None:
        return str(demo_encoder()), SHA256
    folder = Path(preset)
    if not folder.is_dir():
        return preset, preset
    files = files_in(folder)
    return preset, fingerprint([[file.name, file_sha256(file)] for file in files])


def data_fingerprint(data: LabelledTexts) -> str:
    """A hash of all texts and labels."""
    return fingerprint(asdict(data))


def versions() -> list[str]:
    """What trains: another version or backend gives other weights."""
    return [kerasbert.__version__, keras.__version__, keras.backend.backend()]


def describe_data(train: LabelledTexts, evaluation: LabelledTexts, name: str) -> str:
    """One line about the data."""
    counts = (
        f"{len(train):,} training and {len(evaluation):,} evaluation texts, "
        f"{len(set(train.labels))} labels"
    )
    return f"{name}: {counts}" if name else counts


def machine() -> str:
    """One line about the machine and what runs on it."""
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; "
        f"Python {platform.python_version()}, Keras {keras.__version__} on "
        f"{keras.backend.backend()}, kerasbert {kerasbert.__version__}"
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        lines = []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())
