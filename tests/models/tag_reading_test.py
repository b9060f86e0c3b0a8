"""How tokens' probabilities make words, and words entities: worked by hand."""

import numpy as np
import pytest

from kerasbert import TokenClassifierPreprocessor, Tokenizer
from kerasbert.models.tag_reading import entities_of, of_words, tagged, tags_of
from kerasbert.models.tag_schemes import TagScheme

LABELS = ["O", "B-PER", "I-PER"]
# Of the tokens a, ##b, ##c, d.
PROBABILITIES = np.array(
    [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.1, 0.3, 0.6], [0.3, 0.3, 0.4]], "float32"
)


@pytest.fixture(scope="module")
def texts_of():
    tokenizer = Tokenizer.train(["a b c d e f g h i j", "abcdefghija"], vocabulary_size=60)
    preprocessor = TokenClassifierPreprocessor(tokenizer)
    return lambda x: preprocessor.tokenize(x).texts


@pytest.mark.parametrize(
    ("aggregation", "first_word"),
    [
        ("first", [0.2, 0.5, 0.3]),
        ("average", [0.3, 0.3, 0.4]),  # (0.2 + 0.6 + 0.1) / 3, (0.5 + 0.1 + 0.3) / 3, ...
        ("max", [0.6, 0.1, 0.3]),  # 0.6 is the largest, first of the second token
    ],
)
def test_the_tokens_of_a_word_decide_together(texts_of, aggregation, first_word):
    found = of_words(texts_of([["abc", "d"]]), PROBABILITIES, aggregation)
    np.testing.assert_allclose(found, [first_word, [0.3, 0.3, 0.4]], rtol=1e-6)


@pytest.mark.parametrize("aggregation", ["first", "average", "max"])
def test_no_words_have_no_probabilities(texts_of, aggregation):
    assert of_words(texts_of([[], []]), PROBABILITIES[:0], aggregation).shape == (0, 3)


@pytest.mark.parametrize(
    ("aggregation", "expected"),
    [
        ("none", [("B-PER", "a", 0, 1, 0.5), ("I-PER", "c", 2, 3, 0.6), ("I-PER", "d", 4, 5, 0.4)]),
        ("simple", [("PER", "a", 0, 1, 0.5), ("PER", "c d", 2, 5, 0.5)]),  # mean of 0.6 and 0.4
        ("first", [("PER", "abc d", 0, 5, 0.45)]),  # mean of 0.5 and 0.4
        ("average", [("PER", "abc d", 0, 5, 0.4)]),
        ("max", [("PER", "d", 4, 5, 0.4)]),
    ],
)
@pytest.mark.parametrize("x", [["abc d", ""], [["abc", "d"], []]])
def test_neighbours_are_joined_to_entities(texts_of, aggregation, expected, x):
    texts, scheme = texts_of(x), TagScheme.of(LABELS)
    names = LABELS if aggregation == "none" else None
    first, second = entities_of(texts, tagged(texts, PROBABILITIES, aggregation), scheme, names)
    assert second == []
    keys = ("label", "text", "start", "end", "score")
    assert [list(entity) for entity in first] == [list(keys)] * len(expected)
    assert [tuple(entity.values())[:4] for entity in first] == [each[:4] for each in expected]
    assert [entity["score"] for entity in first] == pytest.approx([each[4] for each in expected])


@pytest.mark.parametrize(
    ("labels", "tags", "expected"),
    [
        (["O", "B-A", "I-A", "E-A", "S-A"], "B-A E-A S-A O", [("A", "a b"), ("A", "c")]),
        (["O", "B-A", "I-A", "E-A", "S-A"], "I-A E-A E-A O", [("A", "a b"), ("A", "c")]),
        (["O", "B-A", "I-A"], "I-A B-A I-A O", [("A", "a"), ("A", "b c")]),
        (["O", "B-A", "I-A", "B-B", "I-B"], "B-A I-B I-B O", [("A", "a"), ("B", "b c")]),
        (["N", "V"], "N N V N", [("N", "a b"), ("V", "c"), ("N", "d")]),
        (["O", "creative-work"], "O creative-work O O", [("creative-work", "b")]),
    ],
)
def test_each_scheme_has_its_entities(texts_of, labels, tags, expected):
    texts = texts_of(["a b c d"])
    probabilities = np.eye(len(labels), dtype="float32")[[labels.index(t) for t in tags.split()]]
    found = tagged(texts, probabilities, "first")
    (entities,) = entities_of(texts, found, TagScheme.of(labels), None)
    assert [(entity["label"], entity["text"]) for entity in entities] == expected


def test_every_word_has_a_tag(texts_of):
    texts = texts_of([["a"], [], ["\u200b", "b", ""]])
    assert tags_of(texts, np.array([1, 2]), LABELS) == [["B-PER"], [], ["O", "I-PER", "O"]]
    assert tags_of(texts, np.array([1, 0]), ["N", "V"]) == [["V"], [], [None, "N", None]]
