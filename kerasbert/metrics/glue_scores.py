"""The figures that the GLUE benchmark reports (Wang et al., 2018, arXiv:1804.07461, table 1)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kerasbert.metrics.classification import accuracy, f1, matthews
from kerasbert.metrics.correlation import pearson, spearman

# The classes of each task by number; the files of some tasks have numbers, of others names.
GLUE_LABELS = {
    "cola": ("unacceptable", "acceptable"),
    "mnli": ("entailment", "neutral", "contradiction"),
    "mrpc": ("not_equivalent", "equivalent"),
    "qnli": ("entailment", "not_entailment"),
    "qqp": ("not_duplicate", "duplicate"),
    "rte": ("entailment", "not_entailment"),
    "sst2": ("negative", "positive"),
    "stsb": None,  # scores from 0 to 5
    "wnli": ("not_entailment", "entailment"),
}
_METRICS = {
    "cola": {"matthews": matthews},
    "mrpc": {"accuracy": accuracy, "f1": f1},
    "qqp": {"accuracy": accuracy, "f1": f1},
    "stsb": {"pearson": pearson, "spearman": spearman},
}


def check_glue_task(task: str) -> None:
    """Refuses names that are no task of GLUE."""
    if task not in GLUE_LABELS:
        raise ValueError(f"`task` must be one of {list(GLUE_LABELS)}. Received: task={task!r}.")


def glue(task: str, predictions: Sequence, labels: Sequence) -> dict[str, float]:
    """Scores predictions by the metrics of a GLUE task.

    Args:
        task: `"cola"` (Matthews' correlation), `"mrpc"`, `"qqp"` (accuracy, and F1 of class 1),
            `"stsb"` (Pearson's and Spearman's correlation), `"mnli"`, `"qnli"`, `"rte"`, `"sst2"`
            or `"wnli"` (accuracy).
        predictions: A class for each example, by number or by name (`kerasbert.data.glue_labels`);
            for `"stsb"` a number.
        labels: The right ones, in either form.

    Returns:
        The figures by name: `matthews`, `accuracy`, `f1`, `pearson`, `spearman`.

    Raises:
        ValueError: The task or a class is unknown, or the numbers of predictions and labels differ.

    Example:

    >>> glue("mrpc", [1, 1, 0, 1], ["equivalent"] * 4)["accuracy"]
    0.75
    """
    check_glue_task(task)
    if task != "stsb":
        predictions = _numbers(task, "predictions", predictions)
        labels = _numbers(task, "labels", labels)
    metrics = _METRICS.get(task, {"accuracy": accuracy})
    return {name: metric(predictions, labels) for name, metric in metrics.items()}


def _numbers(task: str, argument: str, classes: Sequence) -> np.ndarray:
    names = GLUE_LABELS[task]
    number_of = {name: number for number, name in enumerate(names)}
    number_of |= {number: number for number in range(len(names))}
    found = np.asarray(classes)
    unknown = [each for each in found.ravel().tolist() if each not in number_of]
    if unknown or found.ndim != 1:
        raise ValueError(
            f"`{argument}` must be one class of {task!r} for each example: a number below "
            f"{len(names)}, or one of {list(names)}. Received: shape={found.shape}, "
            f"{unknown[0] if unknown else found.dtype!r}."
        )
    return np.array([number_of[each] for each in found.tolist()])
