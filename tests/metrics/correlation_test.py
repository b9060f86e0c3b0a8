"""Correlations, against SciPy."""

import warnings

import numpy as np
import pytest
import scipy.stats

from kerasbert.metrics import pearson, spearman

PAIRS = [(pearson, scipy.stats.pearsonr), (spearman, scipy.stats.spearmanr)]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", [False, True])
def test_equals_scipy(ours, theirs, seed, ties):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=100)
    y = x + generator.normal(size=100)
    if ties:
        x, y = np.round(x), np.round(y)
    assert ours(x, y) == pytest.approx(theirs(x, y).statistic, abs=1e-12)


def test_figures_worked_by_hand():
    # Deviations (-1, 0, 1) and (-2, 1, 1): 3 / sqrt(2 * 6). Ranks 1, 2, 3 and 1, 2.5, 2.5.
    assert pearson([1, 2, 3], [0, 3, 3]) == pytest.approx(3 / 12**0.5)
    assert spearman([1, 2, 3], [0, 3, 3]) == pytest.approx(1.5 / (2 * 1.5) ** 0.5)


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([0.1, 0.1, 0.1], [1, 2, 3]),
        ([1, 2, 3], [0.1, 0.1, 0.1]),
        ([0.1, 0.1], [0.1, 0.1]),
        ([1, float("nan"), 3], [1, 2, 3]),
    ],
)
def test_constant_values_and_nan_give_nan_as_in_scipy(ours, theirs, x, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert np.isnan(theirs(x, y).statistic)
    assert np.isnan(ours(x, y))


def test_infinity_has_a_rank_but_no_mean():
    assert spearman([1, 2, float("inf")], [1, 2, 3]) == pytest.approx(1)
    assert np.isnan(pearson([1, 2, float("inf")], [1, 2, 3]))


def test_columns_of_a_regression_are_taken():
    assert pearson(np.array([[1.0], [2.0], [4.0]]), [1, 2, 4]) == pytest.approx(1)


@pytest.mark.parametrize("metric", [pearson, spearman])
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([1], [1], "at least two.*1 predictions and 1 labels"),
        ([1, 2], [1, 2, 3], "2 predictions and 3 labels"),
        ([[1, 2]], [1, 2], r"`predictions` must be one number.*\(1, 2\)"),
        ([1, 2], ["1", "2"], "`labels` must be one number"),
    ],
)
def test_bad_input_is_one_clear_error(metric, x, y, message):
    with pytest.raises(ValueError, match=message):
        metric(x, y)
