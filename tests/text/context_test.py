"""Each token of a long text is read once: from the window in which its word has most context."""

import numpy as np
import pytest

from kerasbert import TokenClassifierPreprocessor, Tokenizer
from kerasbert.text.context import most_context

LETTERS = "a b c d e f g h i j".split()


@pytest.fixture(scope="module")
def tokenizer():
    # Learned from single letters: a word of n letters is n tokens.
    return Tokenizer.train([" ".join(LETTERS), "".join(LETTERS) + "a"], vocabulary_size=60)


@pytest.fixture(scope="module")
def read(tokenizer):
    def read(texts, stride=2, sequence_length=8):
        """The rows and columns of tokens, where rows have room for six."""
        examples = TokenClassifierPreprocessor(tokenizer, sequence_length, stride).tokenize(texts)
        rows, columns = most_context(examples)
        batch = examples.batch(np.arange(len(examples)))["token_ids"]
        np.testing.assert_array_equal(batch[rows, columns], examples.texts.token_ids.values)
        return rows.tolist(), columns.tolist()

    return read


def test_tokens_of_texts_that_fit_are_where_they_stand(read):
    rows, columns = read([["a", "b"], [], ["cde"]])
    assert rows == [0, 0, 2, 2, 2]
    assert columns == [1, 2, 1, 2, 3]


def test_tokens_that_two_windows_share_are_split_between_them(read):
    # Windows of the tokens 0 to 5 and 4 to 9. Token 4 has one to its right in the first and none
    # to its left in the second; token 5 has none and one.
    rows, columns = read([LETTERS])
    assert rows == [0] * 5 + [1] * 5
    assert columns == [1, 2, 3, 4, 5, 2, 3, 4, 5, 6]


def test_the_first_of_equal_windows_is_read(read):
    # Windows 0 to 5 and 3 to 8: of the shared tokens 3, 4 and 5, the middle one is equally far from
    # both cuts.
    assert read([LETTERS[:9]], stride=3)[0] == [0] * 5 + [1] * 4


def test_a_word_is_read_as_a_whole(read):
    # Tokens 3 to 5 are one word. The first window has nothing to its right, but the second window,
    # of the tokens 4 to 9, has only a part of it.
    assert read([["a", "b", "c", "def", "g", "h", "i", "j"]])[0] == [0] * 6 + [1] * 4
    # Tokens 4 and 5 are one: it touches the end of the first window, and the start of the second.
    assert read([["a", "b", "c", "d", "ef", "g", "h", "i", "j"]])[0] == [0] * 6 + [1] * 4
    # Tokens 5 and 6 are one, which the first window cuts.
    assert read([["a", "b", "c", "d", "e", "fg", "h", "i", "j"]])[0] == [0] * 5 + [1] * 5


@pytest.mark.parametrize("stride", [0, 1, 3, 5])
@pytest.mark.parametrize("length", [6, 7, 13, 40])
def test_words_longer_than_windows_are_read_once_too(read, stride, length):
    word = ("".join(LETTERS) * 4)[:length]
    # `read` compares the tokens that are read with those of the text.
    rows, _ = read([["a", word, "b"], [word, word]], stride)
    assert len(rows) == (length + 2) + 2 * length
    assert sorted(rows) == rows
