"""Answers as people write them become the tokens that a model is trained to find."""

import keras
import numpy as np
import pytest

from kerasbert import QuestionAnswererPreprocessor, Tokenizer
from kerasbert.models.answer_targets import (
    AnswerTargets,
    answer_positions,
    read_answers,
)
from kerasbert.models.question_answerer import PADDING_LOGIT
from kerasbert.text.word_piece import word_piece
from tests.text.kinds import KINDS

CONTEXT = "one two three four five six seven eight nine ten"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *CONTEXT.split(), "who", "x", "##yz", "##s"]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(word_piece({word: index for index, word in enumerate(WORDS)}))


@pytest.fixture(scope="module")
def windows(tokenizer):
    """Questions of two tokens, and windows of five tokens of the context that share two."""
    return QuestionAnswererPreprocessor(tokenizer, sequence_length=10, stride=2)


def examples_of(preprocessor, contexts):
    return preprocessor.tokenize({"question": ["who who"] * len(contexts), "context": contexts})


def answer(text, context=CONTEXT):
    return {"text": text, "start": context.index(text)}


class TestReading:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (None, []),
            ({}, []),
            ([], []),
            ({"text": "", "start": None, "end": None, "score": 0.5}, []),
            ({"text": "", "start": -1}, []),
            ({"text": [], "answer_start": []}, []),
            ({"text": "two", "start": 4}, [("two", 4)]),
            ({"text": "two", "start": 4, "end": 7, "score": 0.5}, [("two", 4)]),
            ({"text": b"two", "answer_start": np.int32(4)}, [("two", 4)]),
            ({"text": ["two"], "answer_start": [4]}, [("two", 4)]),
            ({"text": np.array(["two", "one"]), "answer_start": np.array([4, 0])}, None),
            ([{"text": "two", "answer_start": 4}, {"text": "one", "answer_start": 0}], None),
        ],
    )
    def test_every_way_to_write_an_answer_is_read(self, given, expected):
        expected = [("two", 4), ("one", 0)] if expected is None else expected
        assert read_answers([given]) == [expected]

    def test_columns_are_read_as_rows(self):
        columns = {"text": np.array(["two", ""]), "start": np.array([4, -1])}
        assert read_answers(columns) == [[("two", 4)], []]

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            ("two", "The answer to a question must be .*'two' for question 1"),
            (4, "must be .*Received: 4 for question 1"),
            ({"answer": "two"}, "must be .*for question 1"),
            ({"text": "two"}, "the character at which it begins.*start=None for question 1"),
            ({"text": "two", "start": -1}, "start=-1 for question 1"),
            ({"text": "two", "start": 4.5}, "start=4.5 for question 1"),
            ({"text": ["two", "one"], "answer_start": [4]}, "2 texts, 1 starts for question 1"),
        ],
    )
    def test_anything_else_is_an_error_that_names_the_question(self, given, message):
        with pytest.raises(ValueError, match=message):
            read_answers([None, given])


class TestPositions:
    def test_an_answer_is_its_first_and_last_token_of_the_row(self, tokenizer):
        examples = examples_of(QuestionAnswererPreprocessor(tokenizer), [CONTEXT] * 3)
        answers = read_answers([answer("three four five"), answer("ten"), None])
        # [CLS] who who [SEP] one two three
        assert answer_positions(answers, examples).tolist() == [[6, 8], [13, 13], [0, 0]]

    def test_only_windows_that_hold_an_answer_whole_have_it(self, windows):
        examples = examples_of(windows, [CONTEXT, CONTEXT])
        # Each context: one two three four five | four ... eight | seven ... ten
        assert examples.windows.first.tolist() == [0, 3, 6] * 2
        answers = read_answers([answer("three four five"), answer("seven eight")])
        found = answer_positions(answers, examples)
        assert found.tolist() == [[6, 8], [0, 0], [0, 0], [0, 0], [7, 8], [4, 5]]

    def test_answers_that_no_window_holds_are_counted_in_one_warning(self, windows):
        contexts = [CONTEXT] * 3
        x = {"question": ["who who"] * 3, "context": contexts}
        answers = [answer("three four five six"), answer("five six seven eight nine"), None]
        with pytest.warns(UserWarning, match="2 answers lie in no window as a whole") as record:
            answer_positions(read_answers(answers), windows.tokenize(x))
        assert len(record) == 1
        assert record[0].filename == __file__

    def test_a_part_of_a_token_means_the_token(self, tokenizer):
        contexts = ["who xyzs xyzs who"]
        examples = examples_of(QuestionAnswererPreprocessor(tokenizer), contexts)
        # who x ##yz ##s x ##yz ##s who, from column 4 on
        for text, expected in {"y": [6, 6], "yzs xy": [6, 9], " xyzs ": [5, 7]}.items():
            found = answer_positions(read_answers([answer(text, contexts[0])]), examples)
            assert found.tolist() == [expected], text

    def test_an_answer_without_a_token_is_counted(self, tokenizer):
        examples = examples_of(QuestionAnswererPreprocessor(tokenizer), ["who \u200b who"])
        with pytest.warns(UserWarning, match="1 answers lie in no window"):
            found = answer_positions(read_answers([answer("\u200b", "who \u200b")]), examples)
        assert found.tolist() == [[0, 0]]

    @pytest.mark.parametrize("kind", ["roberta", "deberta", "modernbert", "xlm-roberta"])
    def test_tokens_that_begin_with_a_space_start_an_answer(self, kind, tmp_path):
        tokenizer = Tokenizer.from_preset(KINDS[kind].make(tmp_path))
        context = "She sat in the café, and Chopin's cat sat there."
        examples = examples_of(QuestionAnswererPreprocessor(tokenizer), [context])
        ids = examples.batch([0])["token_ids"][0]
        for text in ("She", "the café", "Chopin", "there", "there."):
            ((first, last),) = answer_positions(read_answers([answer(text, context)]), examples)
            assert tokenizer.decode(ids[first : last + 1]).strip() == text

    @pytest.mark.parametrize("start", [9, 3, 100])
    def test_a_start_that_does_not_match_the_text_is_an_error_with_both_texts(
        self, tokenizer, start
    ):
        examples = examples_of(QuestionAnswererPreprocessor(tokenizer), [CONTEXT, CONTEXT])
        answers = read_answers([None, {"text": "two", "start": start}])
        there = CONTEXT[start : start + 3]
        message = f"'two' with start={start} for question 1, where the context has '{there}'"
        with pytest.raises(ValueError, match=message):
            answer_positions(answers, examples)

    def test_all_questions_may_be_without_an_answer(self, windows):
        examples = examples_of(windows, [CONTEXT, ""])
        assert not answer_positions(read_answers([None, {}]), examples).any()


def test_rows_that_fill_a_batch_have_positions_inside_it():
    targets = AnswerTargets(np.array([[3, 4], [90, 95]], "int32"))
    found = targets.batch(np.array([0, -1]), {"token_ids": np.zeros((2, 8), "int32")})
    assert found.tolist() == [[3, 4], [0, 0]]
    assert found.dtype == "int32"


def test_the_logit_of_padding_leaves_softmax_nothing_and_is_finite_in_half_precision():
    assert np.isfinite(np.float16(PADDING_LOGIT))
    logits = np.array([-100.0, -90.0, PADDING_LOGIT], "float32")
    probabilities = keras.ops.convert_to_numpy(keras.ops.softmax(logits))
    np.testing.assert_array_equal(probabilities[2], 0)
