"""Correlation of two series of numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def pearson(predictions: Sequence[float], labels: Sequence[float]) -> float:
    """Pearson's correlation coefficient: how well a line through the points fits.

    Args:
        predictions: Numbers, of shape (n,) or (n, 1), at least two.
        labels: As many numbers.

    Returns:
        A number from -1 to 1. NaN if either series is constant or has a value that is not finite,
        as `scipy.stats.pearsonr` has it.

    Raises:
        ValueError: The numbers of values differ or are below two, or values are not numbers.

    Example:

    >>> pearson([1, 2, 3], [1, 2, 4]) > pearson([3, 2, 1], [1, 2, 4])
    True
    """
    series = [_numbers(name, x) for name, x in (("predictions", predictions), ("labels", labels))]
    _check_lengths(*series)
    return _correlation(*series)


def spearman(predictions: Sequence[float], labels: Sequence[float]) -> float:
    """Spearman's rank correlation: Pearson's of the ranks, equal values having their mean rank.

    It needs all values at once, so there is no Keras metric of it.

    Args:
        predictions: Numbers, of shape (n,) or (n, 1), at least two.
        labels: As many numbers.

    Returns:
        A number from -1 to 1. NaN if either series is constant or has a NaN, as
        `scipy.stats.spearmanr` has it.

    Raises:
        ValueError: As `pearson`.

    Example:

    >>> spearman([1, 2, 3], [1, 2, 400]) > 0.999 > pearson([1, 2, 3], [1, 2, 400])
    True
    """
    series = [_numbers(name, x) for name, x in (("predictions", predictions), ("labels", labels))]
    _check_lengths(*series)
    if any(np.isnan(values).any() for values in series):
        return float("nan")
    return _correlation(*map(_ranks, series))


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    is_constant = (x == x[0]).all() or (y == y[0]).all()
    if is_constant or not (np.isfinite(x).all() and np.isfinite(y).all()):
        return float("nan")
    x, y = x - x.mean(), y - y.mean()
    return float(np.clip(x / np.linalg.norm(x) @ (y / np.linalg.norm(y)), -1, 1))


def _ranks(values: np.ndarray) -> np.ndarray:
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    last_rank = np.cumsum(counts)
    return (last_rank - (counts - 1) / 2)[group]


def _numbers(name: str, values) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1 or array.dtype.kind not in "biuf":
        raise ValueError(
            f"`{name}` must be one number for each example. "
            f"Received: shape={array.shape}, dtype={array.dtype}."
        )
    return array.astype("float64")


def _check_lengths(predictions, labels):
    if len(predictions) != len(labels) or len(labels) < 2:
        raise ValueError(
            "A correlation needs as many predictions as labels, at least two. "
            f"Received: {len(predictions)} predictions and {len(labels)} labels."
        )
