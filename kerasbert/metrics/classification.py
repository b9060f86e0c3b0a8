"""Accuracy, F1 and Matthews' correlation of predicted classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

AVERAGES = ("binary", "macro", "micro")


class _Counts(NamedTuple):
    """Examples by class, each of shape (classes,)."""

    classes: np.ndarray
    hits: np.ndarray  # of this class, and predicted so
    predicted: np.ndarray
    true: np.ndarray


def accuracy(predictions: Sequence, labels: Sequence) -> float:
    """The share of right predictions; of multi-label arrays, of rows that are right as a whole.

    Args:
        predictions: A class for each example, by name or number; or zeros and ones, (n, classes).
        labels: The right classes, in the same form.

    Returns:
        A number from 0 to 1.

    Raises:
        ValueError: There are none, or numbers or forms of predictions and labels differ.

    Example:

    >>> accuracy(["yes", "no", "no", "yes"], ["yes", "no", "yes", "yes"])
    0.75
    """
    predictions, labels = _aligned(predictions, labels)
    is_right = predictions == labels
    return float(np.mean(is_right.all(axis=1) if is_right.ndim == 2 else is_right))


def f1(predictions: Sequence, labels: Sequence, average: str = "binary", positive=1) -> float:
    """F1, the harmonic mean of precision and recall, as scikit-learn's `f1_score`.

    Args:
        predictions: A class for each example, by name or number; or zeros and ones, (n, classes).
        labels: The right classes, in the same form.
        average: `"binary"` (default): F1 of the class `positive`, of at most two; `"macro"`: mean
            over the classes that occur (of an array, over all columns); `"micro"`: of all decisions
            together, with one class for each example the same as accuracy.
        positive: The positive class, used with `"binary"` only. Defaults to 1.

    Returns:
        A number from 0 to 1. What would be divided by zero is 0.

    Raises:
        ValueError: As `accuracy`; `average` is something else, or does not fit the classes.

    Example:

    >>> f1([1, 0, 1, 1], [1, 1, 0, 1]) == 2 / 3
    True
    """
    if average not in AVERAGES:
        raise ValueError(f"`average` must be one of {AVERAGES}. Received: average={average!r}.")
    predictions, labels = _aligned(predictions, labels)
    counts = _counts(predictions, labels)
    if average == "micro":
        return float(_f1(*(np.sum(count) for count in counts[1:])))
    scores = _f1(*counts[1:])
    if average == "macro":
        return float(scores.mean())
    is_positive = counts.classes == positive
    if predictions.ndim == 2 or len(scores) > 2 or (len(scores) == 2 and not is_positive.any()):
        raise ValueError(
            'The average "binary" is for two classes, one of which is `positive`; of more, take '
            f'"macro" or "micro". Received: positive={positive!r}, '
            f"classes={counts.classes[:10].tolist()}."
        )
    return float(scores[is_positive].sum())  # 0 if there are only negatives


def matthews(predictions: Sequence, labels: Sequence) -> float:
    """Matthews' correlation coefficient, of any number of classes (Gorodkin, 2004).

    Args:
        predictions: A class for each example, by name or number.
        labels: The right classes, in the same form.

    Returns:
        A number from -1 to 1; 0.0 if all predictions or all labels are the same, as scikit-learn's
        `matthews_corrcoef`.

    Raises:
        ValueError: As `accuracy`, and for arrays of several classes for each example.

    Example:

    >>> matthews([1, 1, 0, 0], [1, 1, 0, 0]), matthews([1, 1, 1, 1], [1, 1, 0, 0])
    (1.0, 0.0)
    """
    predictions, labels = _aligned(predictions, labels)
    if predictions.ndim == 2:
        raise ValueError(
            "Matthews' correlation is of one class for each example. Score each column alone. "
            f"Received: shape={predictions.shape}."
        )
    _, hits, predicted, true = (np.asarray(count) for count in _counts(predictions, labels))
    total = len(labels)
    spread = (total**2 - predicted @ predicted) * float(total**2 - true @ true)
    return float((total * hits.sum() - predicted @ true) / np.sqrt(spread)) if spread else 0.0


def _f1(hits, predicted, true):
    return np.where(predicted + true, 2 * hits / np.maximum(predicted + true, 1), 0.0)


def _counts(predictions: np.ndarray, labels: np.ndarray) -> _Counts:
    if labels.ndim == 2:
        classes = np.arange(labels.shape[1])
        is_predicted, is_true = predictions == 1, labels == 1
        return _Counts(
            classes, (is_predicted & is_true).sum(0), is_predicted.sum(0), is_true.sum(0)
        )
    classes, index = np.unique(np.concatenate([predictions, labels]), return_inverse=True)
    predicted, true = index[: len(labels)], index[len(labels) :]
    hits, predicted, true = (
        np.bincount(which, minlength=len(classes))
        for which in (true[predicted == true], predicted, true)
    )
    return _Counts(classes, hits, predicted, true)


def _aligned(predictions, labels) -> tuple[np.ndarray, np.ndarray]:
    arrays = np.asarray(predictions), np.asarray(labels)
    kinds = ["text" if array.dtype.kind in "UST" else array.dtype.kind for array in arrays]
    are_classes = all(
        kind in ("text", *"biu") or (kind == "f" and (array == np.round(array)).all())
        for kind, array in zip(kinds, arrays, strict=True)
    )
    if arrays[0].shape != arrays[1].shape or not len(arrays[1]) or arrays[1].ndim > 2:
        raise ValueError(
            "There must be as many predictions as labels, at least one: classes of shape (n,), or "
            "zeros and ones of shape (n, classes). "
            f"Received: shapes {arrays[0].shape} and {arrays[1].shape}."
        )
    if not are_classes or kinds.count("text") == 1:
        raise ValueError(
            "Predictions and labels must be classes, either both names or both whole numbers. Take "
            "the largest logit's index, or the name at it. "
            f"Received: {arrays[0].ravel()[:3].tolist()}, ... and {arrays[1].ravel()[:3].tolist()}."
        )
    if arrays[1].ndim == 2 and not all(np.isin(array, (0, 1)).all() for array in arrays):
        raise ValueError(
            "Arrays of several classes for each example must hold zeros and ones. "
            f"Received: dtypes {arrays[0].dtype} and {arrays[1].dtype} with other values."
        )
    return arrays
