"""Accuracy and latency of a classifier, in Keras and as a ``.tflite`` file."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kerasbert.data import LabelledTexts
from kerasbert.export import LiteRTClassifier
from kerasbert.pipelines.hashing import files_in
from kerasbert.pipelines.report import Row

LATENCY_TEXTS = 100


def measure_task(name: str, task, folder: Path, evaluation: LabelledTexts) -> Row:
    """Measures a `TextClassifier`.

    The latency is of `predict_on_batch` on one tokenized text, padded to its bucket.

    Args:
        name: Name of the row.
        task: The classifier.
        folder: Its preset folder.
        evaluation: The texts and their labels.

    Returns:
        The row of the table.
    """
    examples = task.preprocessor.tokenize(evaluation.inputs())
    batches = [examples.batch([at]) for at in range(len(examples))]
    logits = task.predict(evaluation.inputs(), batch_size=32, verbose=0)
    return Row(
        name=name,
        accuracy=_accuracy(logits, task, evaluation),
        parameters=task.count_params(),
        bytes=sum(file.stat().st_size for file in files_in(folder)),
        latency_ms=_median_latency(task.predict_on_batch, batches),
        file=f"{folder.name}/",
    )


def measure_litert(name: str, path: Path, task, evaluation: LabelledTexts) -> Row:
    """Measures a ``.tflite`` file, made for texts of any length, of a `TextClassifier`.

    The latency is of one tokenized text at its own length, on `litert_threads` threads.

    Args:
        name: Name of the row.
        path: The file.
        task: The classifier that was exported, for its tokenizer and labels.
        evaluation: The texts and their labels.

    Returns:
        The row of the table.
    """
    runner = LiteRTClassifier(path, num_threads=litert_threads())
    examples = task.preprocessor.tokenize(evaluation.inputs())
    batches = [examples.batch([at], width=length) for at, length in enumerate(examples.lengths)]
    scores = [runner.predict_on_batch(batch) for batch in batches]
    return Row(
        name=name,
        accuracy=_accuracy(np.concatenate(scores), task, evaluation),
        parameters=task.count_params(),
        bytes=path.stat().st_size,
        latency_ms=_median_latency(runner.predict_on_batch, batches),
        file=path.name,
    )


def litert_threads() -> int:
    """Threads that ``.tflite`` files are measured with: the machine's cores, four at most."""
    return min(4, os.cpu_count() or 1)


def _accuracy(scores: np.ndarray, task, evaluation: LabelledTexts) -> float:
    return float(np.mean(scores.argmax(axis=-1) == task.encode_targets(evaluation.labels)))


def _median_latency(run: Callable, batches: Sequence[dict]) -> float:
    """Median milliseconds of a call with one text, over texts from all parts of the file."""
    count = min(LATENCY_TEXTS, len(batches))
    batches = [batches[at] for at in np.linspace(0, len(batches) - 1, count).astype(int)]
    for batch in {batch["token_ids"].shape: batch for batch in batches}.values():
        run(batch)  # Every shape once, untimed: it is compiled or allocated on its first call.
    return 1000 * statistics.median(_seconds(run, batch) for batch in batches)


def _seconds(run: Callable, batch: dict) -> float:
    start = time.perf_counter()
    run(batch)
    return time.perf_counter() - start
