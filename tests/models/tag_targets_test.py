"""Tags of words and spans of texts become the classes of tokens; what does not fit is named."""

import warnings

import numpy as np
import pytest

from kerasbert import TokenClassifierPreprocessor, Tokenizer
from kerasbert.models.labels import Labels
from kerasbert.models.tag_schemes import TagScheme
from kerasbert.models.tag_targets import classes_of_spans, classes_of_tags, token_targets

IOB2 = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
IOBES = ["O", *(f"{prefix}-{label}" for label in ("PER", "LOC") for prefix in "BIES")]
PLAIN = ["O", "PER", "LOC"]
OTHERS = -100


@pytest.fixture(scope="module")
def tokenizer():
    # Learned from single letters: a word of n letters is n tokens.
    return Tokenizer.train(["a b c d e f g h i j", "abcdefghija"], vocabulary_size=60)


@pytest.fixture
def targets(tokenizer):
    def compute(words, tags, labels=IOB2, label_all_tokens=False, **settings):
        """The classes of the tokens of each row, as names; `None` for those without."""
        examples = TokenClassifierPreprocessor(tokenizer, **settings).tokenize(words)
        scheme = TagScheme.of(labels)
        if examples.texts.are_given:
            classes = classes_of_tags(tags, examples.texts, Labels.of(None, labels, False), scheme)
        else:
            classes = classes_of_spans(tags, examples.texts, scheme)
        made = token_targets(classes, examples, scheme, label_all_tokens)
        rows = np.arange(len(examples))
        array = made.batch(rows, examples.batch(rows))
        assert array.shape == examples.batch(rows)["token_ids"].shape
        return [
            [None if index == OTHERS else labels[index] for index in row[:length]]
            for row, length in zip(array, examples.lengths, strict=True)
        ]

    return compute


@pytest.fixture
def quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.usefixtures("quietly")
class TestTags:
    def test_the_first_token_of_each_word_is_labelled(self, targets):
        found = targets([["ab", "c", "def"], ["a"]], [["B-PER", "I-PER", "O"], ["B-LOC"]])
        assert found == [
            [None, "B-PER", None, "I-PER", "O", None, None, None],
            [None, "B-LOC", None],
        ]

    @pytest.mark.parametrize(
        ("labels", "tags", "expected"),
        [
            (IOB2, "B-PER I-PER O", "B-PER I-PER I-PER I-PER O O O"),
            (IOB2, "B-PER B-PER B-LOC", "B-PER I-PER I-PER B-PER B-LOC I-LOC I-LOC"),
            (IOBES, "S-PER S-LOC O", "B-PER I-PER E-PER S-LOC O O O"),
            (IOBES, "B-PER I-PER E-PER", "B-PER I-PER I-PER I-PER I-PER I-PER E-PER"),
            (PLAIN, "PER LOC O", "PER PER PER LOC O O O"),
        ],
    )
    def test_all_tokens_of_a_word_are_labelled_on_request(self, targets, labels, tags, expected):
        found = targets([["abc", "d", "efg"]], [tags.split()], labels, label_all_tokens=True)
        assert found == [[None, *expected.split(), None]]

    def test_a_word_of_two_pieces_is_not_two_entities(self, targets):
        assert targets([["ab"]], [["B-PER"]]) == [[None, "B-PER", None, None]]
        expected = [[None, "B-PER", "I-PER", None]]
        assert targets([["ab"]], [["B-PER"]], label_all_tokens=True) == expected

    def test_tags_are_names_or_indices_and_some_words_have_none(self, targets):
        words = [["a", "b", "c", "d"]]
        expected = [[None, "B-LOC", None, "I-LOC", None, None]]
        for tags in (
            ["B-LOC", None, "I-LOC", -100],
            [3, -100, 4, -100],
            np.array([3, -100, 4, -100]),
            [b"B-LOC", -100, np.int64(4), None],
        ):
            assert targets(words, [tags]) == expected
        assert targets(words, np.array([[3, -100, 4, -100]])) == expected

    @pytest.mark.parametrize("label_all_tokens", [False, True])
    def test_each_word_of_a_long_text_is_labelled_once(self, targets, label_all_tokens):
        words = [["ab", "c", "de", "f"] * 5, ["a"]]
        tags = [["B-PER", "I-PER", "O", "B-LOC"] * 5, ["O"]]
        options = {"label_all_tokens": label_all_tokens}
        whole = targets(words, tags, **options)
        parts = targets(words, tags, sequence_length=9, stride=3, **options)
        assert len(parts) > 5

        def labels(rows):
            return [label for row in rows for label in row if label]

        assert labels(parts) == labels(whole)

    def test_empty_examples_have_no_labels(self, targets):
        assert targets([[], ["a"]], [[], ["O"]]) == [[None, None], [None, "O", None]]
        assert targets([], []) == []


class TestSpans:
    TEXT = "ab c, def g"

    @pytest.mark.parametrize(
        ("labels", "expected"),
        [
            (IOB2, "B-PER I-PER O B-LOC O"),
            (IOBES, "B-PER E-PER O S-LOC O"),
            (PLAIN, "PER PER O LOC O"),
            (["O", "I-PER", "I-LOC"], "I-PER I-PER O I-LOC O"),
        ],
    )
    @pytest.mark.usefixtures("quietly")
    def test_spans_become_tags_of_the_scheme(self, targets, labels, expected):
        dicts = [
            {"start": 6, "end": 9, "label": "LOC", "text": "def", "score": 0.5},
            {"start": 0, "end": 4, "label": "PER"},
        ]
        tuples = [(0, 4, "PER"), (np.int64(6), 9, b"LOC")]
        words = expected.split()
        tokens = [None, words[0], None, words[1], words[2], words[3], None, None, words[4], None]
        assert targets([self.TEXT, "a"], [dicts, []], labels) == [tokens, [None, "O", None]]
        assert targets([self.TEXT, "a"], [tuples, []], labels) == [tokens, [None, "O", None]]

    @pytest.mark.usefixtures("quietly")
    def test_whitespace_at_the_ends_of_a_span_does_not_count(self, targets):
        assert targets([self.TEXT], [[(5, 10, "LOC")]]) == targets([self.TEXT], [[(6, 9, "LOC")]])

    def test_a_span_of_a_part_of_a_word_labels_the_word(self, targets):
        message = r"^1 spans begin or end inside a word.*first is \(7, 8, 'LOC'\) in example 1"
        with pytest.warns(UserWarning, match=message):
            found = targets(["a", self.TEXT], [[], [(7, 8, "LOC")]])
        assert found[1] == [None, "O", None, "O", "O", "B-LOC", None, None, "O", None]

    def test_of_two_spans_in_a_word_the_first_has_it(self, targets):
        with pytest.warns(UserWarning, match="^2 spans begin or end inside a word"):
            found = targets(["abcd e"], [[(3, 6, "LOC"), (0, 2, "PER")]])
        assert found == [[None, "B-PER", None, None, None, "B-LOC", None]]

    @pytest.mark.parametrize(
        ("spans", "message"),
        [
            ([(0, 12, "PER")], "lie in its text. Received: start=0, end=12 in example 1 of 11"),
            ([(-1, 2, "PER")], "start=-1, end=2"),
            ([(3, 3, "PER")], "at least one character.*start=3, end=3"),
            ([(0, 4, "PER"), (3, 5, "LOC")], r"not overlap.*\(0, 4, 'PER'\) and \(3, 5, 'LOC'\)"),
            ([(0, 2, "ORG")], r"Unknown label.*\['PER', 'LOC'\]. Received: 'ORG' in example 1"),
            ([(0, 2, "B-PER")], "without the prefix"),
            ([{"start": 0, "end": 2}], "A span must be"),
            ([(0.0, 2.0, "PER")], "A span must be"),
            ([(0, "PER")], "A span must be"),
            (["O", "B-PER"], "Tags of words need lists of words.*'O' in example 1"),
            ({"start": 0, "end": 2, "label": "PER"}, "needs a list of spans"),
            ("O", "needs a list of spans"),
            (None, "needs a list of spans.*None for example 1"),
        ],
    )
    def test_unfitting_spans_are_named(self, targets, spans, message):
        with pytest.raises(ValueError, match=message):
            targets(["a", self.TEXT], [[], spans])

    def test_words_outside_need_a_class_unless_they_are_not_trained(self, targets):
        found = targets(["a b"], [[(0, 1, "LOC")]], ["PER", "LOC"])
        assert found == [[None, "LOC", None, None]]

    def test_a_span_that_needs_a_missing_class_is_refused(self, targets):
        with pytest.raises(ValueError, match="must have I-PER"):
            targets(["a b"], [[(0, 3, "PER")]], ["O", "B-PER"])


class TestUnfittingTags:
    WORDS = (["a", "b"], ["c", "d", "e"])

    @pytest.mark.parametrize(
        ("tags", "message"),
        [
            ([["O", "O"], ["O", "O"]], "Received: 2 tags for 3 words in example 1"),
            ([["O", "O"], ["O"] * 4], "Received: 4 tags for 3 words in example 1"),
            ([["O", "O"], "OOO"], "Received: 'OOO' for 3 words in example 1"),
            ([["O", "O"], None], "Received: None for 3 words in example 1"),
            (
                [["O", "O"], ["O", "B-ORG", "O"]],
                "Unknown label.*'B-ORG' at position 1 of example 1",
            ),
            ([["O", "O"], ["O", "O", 5]], "from 0 to 4. Received: 5 at position 2 of example 1"),
            ([["O", -1], ["O", "O", "O"]], "Received: -1 at position 1 of example 0"),
            ([["O", ["O"]], ["O", "O", "O"]], r"Received: \['O'\] at position 1 of example 0"),
        ],
    )
    def test_they_are_named(self, targets, tags, message):
        with pytest.raises(ValueError, match=message):
            targets(list(self.WORDS), tags)

    def test_a_word_that_becomes_no_token_keeps_the_others_in_place(self, targets):
        words = [["a", "b"], ["c", "\u200b", "d", ""]]
        tags = [["O", "O"], ["B-PER", "I-PER", "B-LOC", "O"]]
        with pytest.warns(
            UserWarning, match="^2 words became no token.*word 1 of example 1"
        ) as seen:
            found = targets(words, tags)
        assert len(seen) == 1
        assert found[1] == [None, "B-PER", "B-LOC", None]

    def test_no_warning_for_a_word_that_had_no_tag(self, targets):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            targets([["c", "\u200b"]], [["O", None]])

    @pytest.mark.parametrize("labels", [IOB2, IOBES])
    def test_entities_without_a_b_are_trained_as_they_are_with_a_warning(self, targets, labels):
        with pytest.warns(UserWarning, match="^2 entities do not begin with B-.*'I-PER' at word 1"):
            found = targets([["a", "b", "c"]], [["O", "I-PER", "I-LOC"]], labels)
        assert found == [[None, "O", "I-PER", "I-LOC", None]]

    def test_all_tokens_need_the_class_that_continues_a_word(self, targets):
        labels = ["O", "B-PER"]
        assert targets([["a"]], [["B-PER"]], labels, True) == [[None, "B-PER", None]]
        with pytest.raises(ValueError, match="must have I-PER"):
            targets([["ab"]], [["B-PER"]], labels, True)
