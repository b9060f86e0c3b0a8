import keras
import numpy as np
import pytest

from kerasbert.text.inputs import as_texts, is_raw


class Column:
    """What a pandas series or a string tensor shows to `numpy.asarray`."""

    def __init__(self, values, dtype):
        self.values = np.array(values, dtype=object)
        self.dtype = dtype

    def __array__(self, dtype=None, copy=None):
        return self.values.astype(dtype)


def string_tensor(values):
    tensorflow = pytest.importorskip("tensorflow", reason="makes the tensor under test")
    return tensorflow.constant(values)


@pytest.mark.parametrize(
    "x",
    [
        ["a", "é"],
        ["a", "é".encode()],
        np.array(["a", "é"]),
        np.array(["a", "é"], dtype=object),
        np.array([b"a", "é".encode()]),
        np.array([["a"], ["é"]]),
        np.array(["a", "é"], dtype=np.dtypes.StringDType()),
        [np.str_("a"), np.str_("é")],
        Column(["a", "é"], np.dtype(object)),
        Column(["a", "é"], "string[python]"),
    ],
)
def test_lists_and_arrays_become_lists_of_strings(x):
    texts = as_texts(x, "x")
    assert texts == ["a", "é"]
    assert all(type(text) is str for text in texts)
    assert is_raw(x)


def test_one_text_becomes_a_list_of_one():
    for x in ("é", "é".encode(), np.array("é"), np.str_("é")):
        assert as_texts(x, "x") == ["é"]
        assert is_raw(x)
    assert as_texts("", "x") == [""]
    assert as_texts([], "x") == []


def test_string_tensors_of_tensorflow_are_taken():
    tensor = string_tensor(["a", "é"])
    assert is_raw(tensor)
    assert as_texts(tensor, "x") == ["a", "é"]
    assert as_texts(string_tensor("é"), "x") == ["é"]
    assert as_texts(string_tensor([["a"], ["é"]]), "x") == ["a", "é"]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (["a", None], r"x\[1\]=None of type NoneType"),
        (["a", 3], r"x\[1\]=3 of type int"),
        (["a", float("nan")], r"x\[1\]=nan of type float"),
        (np.array(["a", np.nan], dtype=object), r"x\[1\]=nan of type float"),
        (Column(["a", None], np.dtype(object)), r"x\[1\]=None of type NoneType"),
        (["a", ["b"]], r"x\[1\]=\['b'\] of type list"),
        (("a", "b"), r"tuple.*\(x, y\).*text_pair"),
        (3, r"x=3 of type int"),
        (None, r"x=None of type NoneType"),
        (np.array([1, 2]), "of type int64"),
    ],
)
def test_what_is_not_text_is_named_with_its_place(x, message):
    with pytest.raises(TypeError, match=message):
        as_texts(x, "x")


def test_columns_of_texts_and_broken_unicode_are_refused():
    with pytest.raises(ValueError, match=r"text_pair.*shape=\(1, 2\)"):
        as_texts(np.array([["a", "b"]]), "x")
    with pytest.raises(ValueError, match=r"not valid Unicode.*x\[1\]"):
        as_texts(["a", "\ud800"], "x")
    with pytest.raises(ValueError, match=r"not valid Unicode.*x\[0\]"):
        as_texts([b"\xff"], "x")


def test_a_long_value_is_shown_shortened():
    with pytest.raises(TypeError) as caught:
        as_texts([["word"] * 1000], "x")
    assert len(str(caught.value)) < 250


def test_text_is_told_from_token_ids():
    for raw in (["a"], ("a", "b"), [None, "a"], [], {"text": ["a"]}, {"text": 3}, [["a", "b"]]):
        assert is_raw(raw), raw
    token_ids = np.zeros((2, 3), np.int32)
    tensor = keras.ops.convert_to_tensor(token_ids)
    for ready in (token_ids, tensor, {"token_ids": token_ids}, [[1, 2]], [1, 2], 3, None):
        assert not is_raw(ready), ready
