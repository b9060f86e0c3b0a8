"""From a task to a checked ``.tflite`` file, by way of the program `litert_worker`."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from keras import ops
from tokenizers import models

from kerasbert.export.flatbuffer import count_operators, input_names, name_tensors_by_signature
from kerasbert.export.litert_request import ConversionRequest
from kerasbert.export.litert_runner import LiteRTClassifier
from kerasbert.export.metadata import (
    LABELS_FILE,
    TOKENIZER_FILE,
    VOCABULARY_FILE,
    write_with_metadata,
)
from kerasbert.export.parity import activate, agreement, parity_batches

# What MediaPipe's tokenizer looks up; a WordPiece vocabulary without them is of no use to it.
_BERT_TOKENS = {"[CLS]", "[SEP]", "[UNK]"}


@dataclass(frozen=True)
class Parity:
    """How a file's output compares with the Keras model's, see `LiteRTReport`."""

    max_difference: float
    agreement: float | None


class Conversion:
    """One task on its way to one or more files.

    Args:
        task: a `TextClassifier` with a preprocessor.
        request: what to convert.
        folder: an empty folder, shared with the worker.
        metadata: Whether files get metadata.

    Raises:
        ValueError: a label cannot be written into the metadata.
    """

    def __init__(self, task, request: ConversionRequest, folder: Path, metadata: bool):
        self.task, self.request, self.folder = task, request, folder
        self._associated_files = _associated_files(task) if metadata else None
        self._batches = parity_batches(
            _with_length(task, request.sequence_length), task.backbone.config.num_segments
        )

    def run(self) -> None:
        """Converts all files into the folder.

        Raises:
            RuntimeError: the conversion failed; the message ends with what the converter said.
        """
        self.task.save_to_preset(str(self.folder / "task"))
        self.request.write(self.folder)
        for i, batch in enumerate(self._batches):
            np.savez(self.folder / f"batch_{i}.npz", **batch)
        result = subprocess.run(
            [sys.executable, "-m", "kerasbert.export.litert_worker", str(self.folder)],
            env=_worker_environment(),
            capture_output=True,
            text=True,
            errors="replace",
        )
        if result.returncode != 0:
            raise RuntimeError(
                "The conversion to LiteRT failed in its process. Received: exit status "
                f"{result.returncode} and\n{result.stderr[-4000:]}"
            )

    def write(self, index: int, path: Path, name: str) -> dict[str, int]:
        """Writes a converted file with its final tensor names and metadata.

        Args:
            index: position of the file in the request.
            path: where to write.
            name: name of the model in the metadata.

        Returns:
            Operator name to number of uses.

        Raises:
            ValueError: the file needs operators that are not built in.
        """
        model = bytearray((self.folder / f"file_{index}.tflite").read_bytes())
        operators = count_operators(model)
        foreign = [name for name in operators if name.startswith("CUSTOM")]
        if foreign:
            raise ValueError(
                "The file would need operators that are not built into LiteRT, so it was not "
                f"written. Replace the layers that use them. Received: {foreign}"
            )
        name_tensors_by_signature(model)
        files = self._associated_files
        if files is None:
            path.write_bytes(model)
        else:
            output = self.request.output
            write_with_metadata(path, model, input_names(model), output, files, name)
        return operators

    def compare(self, path: Path) -> Parity:
        """Runs a written file on the parity texts and compares it with the Keras model."""
        runner = LiteRTClassifier(path)
        received = np.concatenate([runner.predict_on_batch(batch) for batch in self._batches])
        multi_label = self.task.multi_label
        threshold = (0.5 if self.request.activation else 0.0) if multi_label else None
        return Parity(
            max_difference=float(np.abs(self._expected - received).max()),
            agreement=agreement(self._expected, received, threshold),
        )

    @cached_property
    def _expected(self) -> np.ndarray:
        if self.request.reference:
            files = [self.folder / f"reference_{i}.npy" for i in range(len(self._batches))]
            logits = [np.load(file) for file in files]
        else:
            logits = [
                ops.convert_to_numpy(self.task(batch, training=False)) for batch in self._batches
            ]
        return activate(np.concatenate(logits).astype("float64"), self.request.activation)


def _with_length(task, sequence_length: int | None):
    """A copy of the task's preprocessor with the file's length or, for None, the task's limit."""
    preprocessor = task.preprocessor
    if sequence_length is not None:
        options = {"sequence_length": sequence_length, "buckets": (sequence_length,)}
    else:
        limit = task.backbone.config.max_sequence_length
        options = {"sequence_length": min(preprocessor.sequence_length, limit)}
    return type(preprocessor)(preprocessor.tokenizer, **options)


def _worker_environment() -> dict[str, str]:
    package_root = str(Path(__file__).resolve().parents[2])
    search_path = os.environ.get("PYTHONPATH")
    return {
        **os.environ,
        "KERAS_BACKEND": "tensorflow",
        # The GPU, if there is one, belongs to the process that asked.
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "PYTHONPATH": os.pathsep.join(filter(None, [package_root, search_path])),
    }


def _associated_files(task) -> dict[str, str]:
    """The files that go into the ZIP archive, by name."""
    files = _tokenizer_file(task.preprocessor.tokenizer)
    if not task.classes.is_regression:
        files[LABELS_FILE] = _lines(task.labels or [str(i) for i in range(task.num_classes)])
    return files


def _tokenizer_file(tokenizer) -> dict[str, str]:
    """``vocab.txt`` where BERT's own tokenizer can use it, else ``tokenizer.json``."""
    vocabulary = tokenizer.get_vocabulary()
    if isinstance(tokenizer.rust.model, models.WordPiece) and set(vocabulary) >= _BERT_TOKENS:
        return {VOCABULARY_FILE: _lines(vocabulary)}
    return {TOKENIZER_FILE: tokenizer.rust.to_str()}


def _lines(items: list[str]) -> str:
    broken = [item for item in items if "\n" in item]
    if broken:
        raise ValueError(
            "Metadata keeps labels and tokens one a line, so none may contain a line break. Rename "
            f"them or export with `metadata=False`. Received: {broken[:3]}"
        )
    return "".join(f"{item}\n" for item in items)
