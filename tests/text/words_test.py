"""Words keep their tokens and their characters: given in lists, or found in a text."""

import numpy as np
import pytest
import transformers

from kerasbert import Tokenizer
from kerasbert.text.words import align_strings, align_words
from tests.text.kinds import KINDS

WORDS = [
    ["Wake", "me", "up", "in", "Zürich", ",", "please"],
    [],
    ["naïve", "café", "的人有", "can't", "(not", "loud)", "3.50"],
    ["A", "New York", "minute"],  # a word may have a space in it
]
# Kinds whose tokens include the space before a word, which `transformers` only adds when asked to.
READ_SPACES = ("roberta", "deberta")


@pytest.fixture(scope="module", params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def folder(kind, tmp_path_factory):
    return KINDS[kind].make(tmp_path_factory.mktemp("tokenizer"))


@pytest.fixture(scope="module")
def rust(folder):
    return Tokenizer.from_preset(folder).rust


def pieces_of(texts):
    """What each token of each text stands for, without whitespace around it."""
    spans = [texts.extent(*token) for token in zip(texts.owners, *texts.offsets.T, strict=True)]
    strings = [texts.strings[owner] for owner in texts.owners]
    return [string[start:end] for string, (start, end) in zip(strings, spans, strict=True)]


def words_of(texts):
    strings = [texts.strings[owner] for owner in texts.owners[texts.first_tokens]]
    return [string[start:end] for string, (start, end) in zip(strings, texts.extents, strict=True)]


def test_words_become_the_tokens_that_transformers_makes_of_them(kind, folder, rust):
    options = {"add_prefix_space": True} if kind in READ_SPACES else {}
    theirs = transformers.AutoTokenizer.from_pretrained(folder, **options)
    words = WORDS
    if kind == "modernbert":  # its class has no such option: a space does the same
        words = [[f" {word}" for word in row] for row in WORDS]
    expected = theirs(words, is_split_into_words=True, add_special_tokens=False)
    found = align_words(rust, WORDS)
    for text, row in enumerate(expected["input_ids"]):
        assert found.token_ids[text].tolist() == row
        assert found.words[found.tokens_of(text)].tolist() == expected.word_ids(text)


def test_words_have_the_tokens_of_the_text_that_they_are_from(rust):
    # Behind the first word: where a text begins, byte-level BPE has no space.
    words = ["so", "Wake", "me", "up", "in", "the", "morning"]
    given = align_words(rust, [words])
    found = align_strings(rust, [" ".join(words)])
    ids = [texts.token_ids.values[texts.first_tokens[1] :].tolist() for texts in (given, found)]
    assert ids[0] == ids[1]
    assert words_of(given) == words_of(found) == words


def test_characters_of_words_count_in_the_words_joined_by_spaces(rust):
    texts = align_words(rust, WORDS)
    assert texts.strings == [" ".join(row) for row in WORDS]
    assert texts.num_words.tolist() == [len(row) for row in WORDS]
    assert words_of(texts) == [word for row in WORDS for word in row]
    starts = np.cumsum([0, *(len(word) + 1 for word in WORDS[3])])[:-1]
    assert texts.extents[-3:, 0].tolist() == starts.tolist()
    owners = np.repeat(words_of(texts), texts.num_tokens)
    assert all(piece in word for piece, word in zip(pieces_of(texts), owners, strict=True))


@pytest.mark.parametrize(
    "text",
    [
        "A, <mask> AllenNLP sentence.",
        "A, [MASK] AllenNLP sentence.",
        "naïve mở bài lạc trôi",
        "  的人有  and  more  ",
        "x",
    ],
)
def test_words_of_a_text_are_its_own_characters_in_order(rust, text):
    texts = align_strings(rust, [text, "", text])
    once = texts.extents[: len(texts.extents) // 2]
    np.testing.assert_array_equal(texts.extents, np.tile(once, (2, 1)))
    assert texts.num_words[0] == texts.num_words[2]
    assert texts.num_words[1] == 0
    joined = "".join(text[start:end] for start, end in once)
    assert joined == "".join(text.split())
    assert (once[1:, 0] >= once[:-1, 1]).all()


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("word piece cased", "some jazz,", ["some", "jazz", ","]),
        ("roberta", "A, <mask> AllenNLP sentence.", "A|,|<mask>|AllenNLP|sentence|.".split("|")),
        ("word piece uncased", "的人有", ["的", "人", "有"]),
        ("word piece cased", "mở bài lạc trôi", ["mở", "bài", "lạc", "trôi"]),
        ("word piece cased", "a naïve cat", ["a", "naïve", "cat"]),
        ("xlm-roberta", "a naïve cat, ", ["a", "naïve", "cat,"]),
    ],
)
def test_words_are_those_of_the_pre_tokenizer(name, text, expected, tmp_path):
    rust = Tokenizer.from_preset(KINDS[name].make(tmp_path)).rust
    found = words_of(align_strings(rust, [text]))
    assert [word for word in found if word] == expected


def test_a_word_without_tokens_keeps_its_place(tmp_path):
    rust = Tokenizer.from_preset(KINDS["word piece cased"].make(tmp_path)).rust
    texts = align_words(rust, [["a"], ["\u200b", "b", "", "c"]])
    assert texts.num_words.tolist() == [1, 4]
    assert texts.positions.tolist() == [0, 2, 4]
    assert texts.place_of(4) == (1, 3)
    assert words_of(texts) == ["a", "b", "c"]
