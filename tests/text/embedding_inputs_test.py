"""Texts and pairs of texts for embedders, and lowercasing before a tokenizer."""

import numpy as np
import pytest

from kerasbert import TextClassifierPreprocessor, TextEmbedderPreprocessor, Tokenizer
from kerasbert.text.embedding_inputs import lowercased

TEXTS = ["wake me at seven", "play some jazz", "", "Play"]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train([text.lower() for text in TEXTS], 60, lowercase=False)


@pytest.fixture(scope="module")
def preprocessor(tokenizer):
    return TextEmbedderPreprocessor(tokenizer, sequence_length=20, buckets=(8, 16))


def test_texts_are_those_of_a_classifier(preprocessor, tokenizer):
    found = preprocessor(TEXTS)
    expected = TextClassifierPreprocessor(tokenizer, sequence_length=20, buckets=(8, 16))(TEXTS)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array)


def test_each_text_of_a_pair_is_a_row_of_its_own(preprocessor, tokenizer):
    pairs = {"text": TEXTS, "text_pair": TEXTS[::-1]}
    examples = preprocessor.tokenize(pairs)
    assert len(examples) == 4
    batch = examples.batch([2, -1, 0])
    assert batch["token_ids"].shape == (3, 2, examples.width_of(np.array([2, 0])))
    for row, texts in ((0, ("", "play some jazz")), (2, ("wake me at seven", "Play"))):
        for column, text in enumerate(texts):
            real = batch["padding_mask"][row, column].astype(bool)
            assert batch["token_ids"][row, column][real].tolist() == tokenizer.encode(text).ids
    assert not batch["padding_mask"][1].any()
    assert not batch["segment_ids"].any()


def test_each_text_may_have_the_full_length(tokenizer):
    short = TextEmbedderPreprocessor(tokenizer, sequence_length=6)
    with pytest.warns(UserWarning, match="1 of 4 examples were longer than 6 tokens"):
        batch = short({"text": ["play", "play"], "text_pair": ["play " * 9, "play play"]})
    assert batch["padding_mask"].sum(axis=2).tolist() == [[3, 6], [3, 4]]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({"text": ["a"], "text_pair": ["b", "c"]}, "1 and 2 texts"),
        ({"text": ["a"], "pair": ["b"]}, r"keys=\['text', 'pair'\]"),
        ({"text_pair": ["b"]}, r"keys=\['text_pair'\]"),
    ],
)
def test_pairs_in_another_form_are_refused(preprocessor, x, message):
    with pytest.raises(ValueError, match=message):
        preprocessor(x)


def test_lowercasing_comes_first_and_once_and_is_saved(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    own = Tokenizer.from_preset(tmp_path)
    assert own.encode("Play").ids != own.encode("play").ids
    for _ in range(2):
        lowercased(own)
        assert own.encode("PLAY some").ids == tokenizer.encode("play some").ids
        assert own.encode("[SEP]").ids == tokenizer.encode("[SEP]").ids
    assert own.rust.normalizer.__getstate__().count(b"Lowercase") == 1
    own.save(tmp_path / "lowercased")
    again = Tokenizer.from_preset(tmp_path / "lowercased")
    assert again.encode("PLAY").ids == own.encode("play").ids
