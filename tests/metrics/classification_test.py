"""Accuracy, F1 and Matthews' correlation, against scikit-learn and arithmetic."""

import warnings

import numpy as np
import pytest
import sklearn.metrics

from kerasbert.metrics import accuracy, f1, matthews


def random_classes(seed, classes, size=200):
    generator = np.random.default_rng(seed)
    labels = generator.integers(classes, size=size)
    is_right = generator.random(size) < 0.6
    return np.where(is_right, labels, generator.integers(classes, size=size)), labels


@pytest.mark.parametrize("classes", [2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_classes_score_as_in_scikit_learn(classes, seed):
    predictions, labels = random_classes(seed, classes)
    assert accuracy(predictions, labels) == pytest.approx(
        sklearn.metrics.accuracy_score(labels, predictions)
    )
    assert matthews(predictions, labels) == pytest.approx(
        sklearn.metrics.matthews_corrcoef(labels, predictions)
    )
    for average in ("macro", "micro"):
        assert f1(predictions, labels, average) == pytest.approx(
            sklearn.metrics.f1_score(labels, predictions, average=average)
        )


@pytest.mark.parametrize("positive", [0, 1])
def test_f1_of_one_class_is_that_of_scikit_learn(positive):
    predictions, labels = random_classes(5, 2)
    assert f1(predictions, labels, positive=positive) == pytest.approx(
        sklearn.metrics.f1_score(labels, predictions, pos_label=positive)
    )
    names = np.array(["no", "yes"])
    assert f1(names[predictions], names[labels], positive=str(names[positive])) == pytest.approx(
        f1(predictions, labels, positive=positive)
    )


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_several_classes_for_each_example_score_as_in_scikit_learn(average):
    generator = np.random.default_rng(0)
    predictions, labels = generator.integers(2, size=(2, 50, 4))
    predictions[:, 3] = labels[:, 3] = 0  # a class that does not occur counts as 0
    assert f1(predictions, labels, average) == pytest.approx(
        sklearn.metrics.f1_score(labels, predictions, average=average, zero_division=0)
    )
    assert accuracy(predictions, labels) == pytest.approx(
        sklearn.metrics.accuracy_score(labels, predictions)
    )


def test_figures_worked_by_hand():
    # 3 true positives, 1 false positive, 2 false negatives, 4 true negatives.
    predictions = [1, 1, 1, 1, 0, 0, 0, 0, 0, 0]
    labels = [1, 1, 1, 0, 1, 1, 0, 0, 0, 0]
    assert accuracy(predictions, labels) == pytest.approx(0.7)
    assert f1(predictions, labels) == pytest.approx(2 * 0.75 * 0.6 / (0.75 + 0.6))
    assert matthews(predictions, labels) == pytest.approx((3 * 4 - 1 * 2) / (4 * 5 * 5 * 6) ** 0.5)


@pytest.mark.parametrize(
    ("predictions", "labels"), [([0, 0, 0], [0, 1, 1]), ([0, 1, 1], [0, 0, 0]), ([0, 0], [0, 0])]
)
def test_one_class_only_scores_as_in_scikit_learn(predictions, labels):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert matthews(predictions, labels) == sklearn.metrics.matthews_corrcoef(
            labels, predictions
        )
        for average in ("binary", "macro", "micro"):
            assert f1(predictions, labels, average) == pytest.approx(
                sklearn.metrics.f1_score(labels, predictions, average=average)
            )


def test_names_and_whole_floats_are_classes_too():
    assert accuracy(["a", "b"], np.array(["a", "c"])) == 0.5
    assert accuracy([0.0, 1.0], [0, 1]) == 1


@pytest.mark.parametrize("metric", [accuracy, f1, matthews])
@pytest.mark.parametrize(
    ("predictions", "labels", "message"),
    [
        ([], [], r"at least one.*\(0,\) and \(0,\)"),
        ([1, 0], [1], r"\(2,\) and \(1,\)"),
        ([[0.1, 0.9]], [1], r"\(1, 2\) and \(1,\)"),
        (["1", "0"], [1, 0], r"both names or both whole numbers.*'1'.*1, 0"),
        ([0.2, 0.7], [0, 1], "largest logit's index"),
        ([float("nan"), 1.0], [0, 1], "whole numbers"),
        ([[2, 0]], [[1, 0]], "zeros and ones"),
    ],
)
def test_bad_input_is_one_clear_error(metric, predictions, labels, message):
    with pytest.raises(ValueError, match=message):
        metric(predictions, labels)


def test_averages_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="average='weighted'"):
        f1([1], [1], average="weighted")
    with pytest.raises(ValueError, match=r"two classes.*positive=1, classes=\[0, 1, 2\]"):
        f1([0, 1], [2, 1])
    with pytest.raises(ValueError, match=r"positive=1, classes=\['no', 'yes'\]"):
        f1(["no"], ["yes"])
    with pytest.raises(ValueError, match='"macro" or "micro"'):
        f1([[1, 0]], [[1, 0]])
    with pytest.raises(ValueError, match="one class for each example"):
        matthews([[1, 0]], [[1, 0]])
