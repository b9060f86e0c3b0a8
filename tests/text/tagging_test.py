"""Texts and lists of words to rows for tagging."""

import keras
import numpy as np
import pytest

from kerasbert import TokenClassifierPreprocessor, Tokenizer

WORDS = [["Anna", "lives", "in", "Oslo"], ["so", "it", "goes"]]
TEXTS = [" ".join(row) for row in WORDS]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS * 2, vocabulary_size=90)  # so that each word is one token


@pytest.fixture
def preprocessor(tokenizer):
    return TokenClassifierPreprocessor(tokenizer, sequence_length=16, buckets=(8,))


class Series:
    """Stands for a pandas series."""

    def __init__(self, values):
        self._values = values
        self.dtype = np.dtype(object)

    def __len__(self):
        return len(self._values)

    def __iter__(self):
        return iter(self._values)

    def to_list(self):
        return list(self._values)


def rows_of(preprocessor, x):
    """The ids of each example, without padding."""
    batch = preprocessor(x)
    return [ids[: mask.sum()].tolist() for ids, mask in zip(*map(batch.get, NAMES), strict=True)]


NAMES = ("token_ids", "padding_mask")
FORMS_OF_WORDS = {
    "lists": WORDS,
    "a dict": {"tokens": WORDS},
    "tuples in a list": [tuple(row) for row in WORDS],
    "arrays": [np.array(row) for row in WORDS],
    "bytes": [[word.encode() for word in row] for row in WORDS],
    "an array of lists": np.array([list(row) for row in WORDS], dtype=object),
    "a series of lists": Series(WORDS),
    "texts": TEXTS,
    "texts in a dict": {"text": TEXTS},
    "an array of texts": np.array(TEXTS),
}


@pytest.mark.parametrize("form", FORMS_OF_WORDS)
def test_takes_words_and_texts_in_many_forms(preprocessor, tokenizer, form):
    x = FORMS_OF_WORDS[form]
    assert preprocessor.is_raw(x)
    assert rows_of(preprocessor, x) == [tokenizer.encode(text).ids for text in TEXTS]


def test_one_text_and_one_named_list_of_words_are_one_example(preprocessor, tokenizer):
    ids = tokenizer.encode(TEXTS[0]).ids
    assert rows_of(preprocessor, TEXTS[0]) == [ids]
    assert rows_of(preprocessor, {"tokens": WORDS[0]}) == [ids]


def test_takes_ragged_tensors(preprocessor, tokenizer):
    tf = pytest.importorskip("tensorflow")
    ragged = tf.ragged.constant(WORDS)
    expected = [tokenizer.encode(text).ids for text in TEXTS]
    assert rows_of(preprocessor, ragged) == expected
    assert rows_of(preprocessor, {"tokens": ragged}) == expected


def test_empty_inputs_are_examples_without_words(preprocessor):
    examples = preprocessor.tokenize([[], ["Anna"], []])
    assert examples.lengths.tolist() == [2, 3, 2]  # the special tokens
    for nothing in ([], {"tokens": []}, {"text": []}):
        assert len(preprocessor.tokenize(nothing)) == 0


def test_long_texts_become_rows_that_together_hold_every_token(tokenizer):
    preprocessor = TokenClassifierPreprocessor(tokenizer, sequence_length=8, stride=2)
    words = [["so", "it", "goes", "in"] * 5, ["so"]]
    examples = preprocessor.tokenize(words)
    assert examples.origin.tolist() == [0] * 5 + [1]
    assert max(examples.lengths) == 8
    ids = examples.texts.token_ids.values
    parts = [ids[examples.tokens_of(row)] for row in range(5)]
    assert np.concatenate([parts[0], *(part[2:] for part in parts[1:])]).tolist() == list(ids[:20])


def test_the_default_stride_is_a_quarter_of_the_length(tokenizer):
    assert TokenClassifierPreprocessor(tokenizer).stride == 128
    assert TokenClassifierPreprocessor(tokenizer, sequence_length=40).stride == 10
    assert TokenClassifierPreprocessor(tokenizer, stride=0).stride == 0


def test_its_settings_are_kept(tokenizer, tmp_path):
    preprocessor = TokenClassifierPreprocessor(
        tokenizer, sequence_length=40, stride=7, buckets=(8, 24), label_all_tokens=True
    )
    again = TokenClassifierPreprocessor.from_config(preprocessor.get_config())
    assert (again.stride, again.sequence_length, again.label_all_tokens) == (7, 40, True)
    assert again.buckets == (8, 24, 40)
    tokenizer.save(tmp_path)
    assert TokenClassifierPreprocessor.from_preset(tmp_path, stride=3).stride == 3
    assert keras.saving.get_registered_name(type(again)) == "kerasbert>TokenClassifierPreprocessor"


@pytest.mark.parametrize(
    ("x", "is_one"),
    [
        ("a text", True),
        ({"text": "a text"}, True),
        ({"text": np.array(b"a text", object)}, True),
        ({"tokens": ["its", "words"]}, True),
        ({"tokens": np.array([b"its", b"words"], object)}, True),
        ({"tokens": []}, True),
        (["one text", "another"], False),
        ({"text": ["one text", "another"]}, False),
        ([["its", "words"], ["others"]], False),
        ({"tokens": [["its", "words"], []]}, False),
        ({"tokens": Series([["its", "words"]])}, False),
    ],
)
def test_knows_single_examples_of_datasets(x, is_one):
    assert TokenClassifierPreprocessor.is_one(x) == is_one


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stride": 8, "sequence_length": 8}, "less than `sequence_length`.*stride=8"),
        ({"stride": -1}, "int >= 0. Received: stride=-1"),
        ({"stride": 2.5}, "int >= 0. Received: stride=2.5"),
        ({"sequence_length": "8"}, "positive int. Received: '8'"),
    ],
)
def test_unfitting_settings_are_refused(tokenizer, arguments, message):
    with pytest.raises(ValueError, match=message):
        TokenClassifierPreprocessor(tokenizer, **arguments)


def test_a_stride_that_leaves_a_row_no_new_token_is_refused(tokenizer):
    preprocessor = TokenClassifierPreprocessor(tokenizer, sequence_length=8, stride=6)
    preprocessor([["so"] * 6])  # which fits
    with pytest.raises(ValueError, match=r"`stride`.* less than .*stride=6 with room for 6 tokens"):
        preprocessor([["so"] * 7])


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        ([["so"], "it goes"], TypeError, r"not some of each.*x\[1\]='it goes' of type str"),
        (["it goes", ["so"]], TypeError, r"not some of each.*x\[0\]='it goes'"),
        ([["so", 3]], TypeError, r"must be a string.*x\[0\]\[1\]=3 of type int"),
        ({"tokens": [["so"], [None]]}, TypeError, r"tokens\[1\]\[0\]=None"),
        (("it goes", "so"), TypeError, "must not be a tuple"),
        ({"text": ["so"], "tokens": [["so"]]}, ValueError, "one of the keys.*keys=.'text'"),
        ({"words": [["so"]]}, ValueError, "one of the keys.*keys=.'words'"),
        ([["a\ud800"]], ValueError, r"not valid Unicode.*x\[0\]\[0\]"),
    ],
)
def test_what_is_no_text_is_named(preprocessor, x, error, message):
    with pytest.raises(error, match=message):
        preprocessor(x)
