"""Labels as people write them."""

import numpy as np
import pytest

from kerasbert.models.labels import Labels

NAMED = Labels.of(None, ["alarm", "music", "rain"], False)
NUMBERED = Labels.of(3, None, False)
MANY = Labels.of(None, ["alarm", "music", "rain"], True)
VALUE = Labels.of(1, None, False)


@pytest.mark.parametrize(
    "y",
    [
        ["music", "alarm", "rain"],
        [1, 0, 2],
        ["music", 0, np.int64(2)],
        [b"music", b"alarm", b"rain"],
        np.array(["music", "alarm", "rain"]),
        np.array(["music", "alarm", "rain"], dtype=object),
        np.array([1, 0, 2]),
        np.array([1.0, 0.0, 2.0]),
        np.array([[1], [0], [2]]),
        ("music", "alarm", "rain"),
    ],
    ids=repr,
)
def test_names_and_indices_are_the_same_classes(y):
    found = NAMED.encode(y)
    assert found.dtype == "int32"
    assert found.tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("classes", "y", "message"),
    [
        (NAMED, ["alarm", "snow"], r"Unknown label.*alarm.*'snow' at position 1"),
        (NUMBERED, [0, 3], r"from 0 to 2.*3 at position 1"),
        (NUMBERED, [-1], r"from 0 to 2.*-1 at position 0"),
        (NUMBERED, ["alarm"], r"labels=\[\.\.\.\].*'alarm'"),
        (NUMBERED, [0, 1.5], r"1\.5 at position 1"),
        (NUMBERED, [0, None], r"None at position 1"),
        (NUMBERED, [float("nan")], r"nan at position 0"),
        (NUMBERED, np.eye(3), r"position 0"),
        (NUMBERED, "alarm", r"sequence"),
        (NUMBERED, 1, r"sequence"),
        (VALUE, ["high"], r"must be numbers"),
        (VALUE, [[1, 2], [3, 4]], r"must be numbers"),
        (VALUE, [1.0, float("inf")], r"finite.*inf at position 1"),
        (MANY, ["alarm"], r"list of labels.*'alarm'"),
        (MANY, [0, 1], r"list of labels"),
        (MANY, [["alarm", "snow"]], r"'snow' at position 0"),
        (MANY, np.array([[0, 2, 1]]), r"zeros and ones"),
        (MANY, np.zeros((2, 4)), r"\(n, 3\)"),
        (MANY, [[1, 0, 1]], r"NumPy array"),  # zeros and ones, which would read as indices
    ],
)
def test_a_label_that_is_none_is_an_error_that_names_it(classes, y, message):
    with pytest.raises(ValueError, match=message):
        classes.encode(y)


def test_a_regression_takes_numbers():
    for y in ([1, 2.5], np.array([1, 2.5]), np.array([[1], [2.5]])):
        found = VALUE.encode(y)
        assert found.dtype == "float32"
        assert found.tolist() == [[1.0], [2.5]]


@pytest.mark.parametrize(
    "y",
    [
        [["music", "rain"], []],
        [[1, 2], []],
        pytest.param([{"rain", "music"}, ()], id="sets"),
        np.array([[0, 1, 1], [0, 0, 0]]),
    ],
    ids=repr,
)
def test_an_example_has_any_number_of_labels(y):
    found = MANY.encode(y)
    assert found.dtype == "float32"
    assert found.tolist() == [[0, 1, 1], [0, 0, 0]]


def test_a_single_class_may_be_there_or_not():
    one = Labels.of(None, ["spam"], True)
    assert one.encode(np.array([[1], [0]])).tolist() == [[1], [0]]
    assert one.encode([["spam"], []]).tolist() == [[1], [0]]
    assert not one.is_regression


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, None, False), "neither"),
        ((2, ["a", "b", "c"], False), "num_classes=2, 3 labels"),
        ((None, ["a", "a"], False), "distinct"),
        ((None, [], False), "distinct"),
        ((None, [1, 2], False), "strings"),
        ((0, None, False), ">= 1"),
        (("3", None, False), ">= 1"),
        ((2.0, None, False), ">= 1"),
    ],
)
def test_contradicting_arguments_are_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Labels.of(*arguments)


def test_weights_of_classes_may_be_given_by_name_or_index():
    found = NAMED.example_weights(["rain", "alarm", "music"], {"rain": 3.0, 0: 0.5})
    assert found.tolist() == [3.0, 0.5, 1.0]


@pytest.mark.parametrize("classes", [MANY, VALUE])
def test_weights_of_classes_need_one_class_for_each_example(classes):
    with pytest.raises(ValueError, match="sample_weight"):
        classes.example_weights([1], {0: 1.0})
