"""Questions and contexts become the rows that transformers makes of them."""

import numpy as np
import pytest
import torch
import transformers
from transformers.models.longformer import modeling_longformer

import kerasbert
from kerasbert import QuestionAnswererPreprocessor, Tokenizer
from kerasbert.text.word_piece import word_piece
from tests.text.kinds import KINDS

SPECIAL_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
QUESTIONS = [
    "Which kettle whistles?",
    "  who's in the naïve café?",
    "Where?",
    "",
    "的人有 when",
    "How many?",
]
CONTEXTS = [
    "The old kettle on the stove whistles at seven, the new one at eight, and the third one never.",
    "She sat in the naïve café on Monday; on Tuesday, though,  Schrödinger's cat sat there. " * 3,
    "",
    "Play some jazz in the living-room (not too loud).",
    "的人有 and 東京 at noon 😀 or later, when the 3 pizzas for £12.50 are cold and it is over",
    " \n ",
]


def preprocessor_of(tokenizer, **settings):
    return QuestionAnswererPreprocessor(tokenizer, **{"buckets": (), **settings})


def words(count, of="w"):
    return " ".join(f"{of}{index}" for index in range(count))


@pytest.fixture(scope="module")
def tokenizer():
    """One token for each of the words w0 to w599 and q0 to q99, and for `here`."""
    texts = [*SPECIAL_TOKENS, *words(600).split(), *words(100, "q").split(), "here"]
    return Tokenizer(word_piece({word: index for index, word in enumerate(texts)}))


@pytest.fixture(scope="module", params=["word piece uncased", "roberta", "deberta-v2"])
def pair(request, tmp_path_factory):
    """A tokenizer of ours and the same of `transformers`."""
    folder = KINDS[request.param].make(tmp_path_factory.mktemp("tokenizer"))
    return Tokenizer.from_preset(folder), transformers.AutoTokenizer.from_pretrained(folder)


class TestAgainstTransformers:
    def test_windows_segments_and_offsets_are_those_of_transformers(self, pair):
        tokenizer, theirs = pair
        preprocessor = preprocessor_of(tokenizer, sequence_length=40, stride=7)
        examples = preprocessor.tokenize({"question": QUESTIONS, "context": CONTEXTS})
        expected = theirs(
            QUESTIONS,
            CONTEXTS,
            truncation="only_second",
            max_length=40,
            stride=7,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
            return_token_type_ids=True,
        )
        assert len(examples) > 2 * len(QUESTIONS)
        assert examples.origin.tolist() == expected["overflow_to_sample_mapping"]
        batch = examples.batch(np.arange(len(examples)))
        for row, length in enumerate(examples.lengths):
            assert batch["token_ids"][row, :length].tolist() == expected["input_ids"][row]
            assert batch["segment_ids"][row, :length].tolist() == expected["token_type_ids"][row]
            is_context = np.array([part == 1 for part in expected.sequence_ids(row)])
            assert (
                np.flatnonzero(is_context).tolist() == list(range(length))[examples.columns_of(row)]
            )
            offsets = np.array(expected["offset_mapping"][row])[is_context]
            np.testing.assert_array_equal(
                examples.texts.offsets[examples.tokens_of(row)], offsets.reshape(-1, 2)
            )

    def test_the_tokens_up_to_the_questions_end_are_global(self, tmp_path):
        tokenizer = Tokenizer.from_preset(KINDS["roberta"].make(tmp_path))
        preprocessor = preprocessor_of(tokenizer, sequence_length=40, stride=7)
        batch = preprocessor({"question": QUESTIONS, "context": CONTEXTS})
        expected = modeling_longformer._compute_global_attention_mask(
            torch.tensor(batch["token_ids"]), tokenizer.sep_token_id
        )
        assert batch["global_mask"].dtype == "int32"
        np.testing.assert_array_equal(batch["global_mask"], expected.int().numpy())

    def test_a_pair_of_robertas_has_one_segment(self, tmp_path):
        tokenizer = Tokenizer.from_preset(KINDS["roberta"].make(tmp_path))
        batch = preprocessor_of(tokenizer)({"question": ["who"], "context": ["they"]})
        assert not batch["segment_ids"].any()


class TestWindows:
    def test_a_context_of_600_tokens_is_covered_and_maps_back_to_its_characters(self, tokenizer):
        context = f"{words(599)} here"
        examples = preprocessor_of(tokenizer).tokenize({"question": ["q1"], "context": [context]})
        assert examples.lengths.tolist() == [384, 352]  # 380, and 600 - 380 + 128, and 4 others
        last = examples.tokens_of(1)
        start, end = examples.texts.offsets[last][-1]
        assert context[start:end] == "here"
        batch = examples.batch([1])
        place = examples.columns_of(1).stop - 1
        assert batch["token_ids"][0, place] == tokenizer.token_to_id("here")
        assert batch["token_ids"][0, place + 1] == tokenizer.sep_token_id

    def test_the_stride_is_what_windows_share(self, tokenizer):
        preprocessor = preprocessor_of(tokenizer, sequence_length=20, stride=6)
        examples = preprocessor.tokenize({"question": [words(3, "q")], "context": [words(40)]})
        # Room for 14 of the 40 tokens, of which 6 were in the window before.
        assert examples.windows.first.tolist() == [0, 8, 16, 24, 32]
        assert examples.windows.lengths.tolist() == [14, 14, 14, 14, 8]

    def test_a_stride_that_would_skip_tokens_is_refused_and_a_smaller_one_skips_none(
        self, tokenizer
    ):
        x = {"question": [words(11, "q")], "context": [words(157)]}
        with pytest.raises(ValueError, match=r"`stride`.*less than.*stride=128 with room for 114"):
            preprocessor_of(tokenizer, sequence_length=128, stride=128).tokenize(x)
        examples = preprocessor_of(tokenizer, sequence_length=128, stride=113).tokenize(x)
        seen = [token for row in range(len(examples)) for token in _tokens(examples, row)]
        assert set(seen) == set(range(157))

    def test_a_token_beyond_the_limit_makes_a_second_row_not_an_error(self, tokenizer):
        preprocessor = preprocessor_of(tokenizer, sequence_length=512)
        x = {"question": ["q1"], "context": [words(509)]}
        assert preprocessor.tokenize(x).lengths.tolist() == [512, 133]  # 513 = 509 and 4 others

    def test_rows_are_padded_to_their_bucket(self, tokenizer):
        preprocessor = QuestionAnswererPreprocessor(tokenizer)
        batch = preprocessor({"question": ["q1", "q2"], "context": ["w1", words(20)]})
        assert batch["token_ids"].shape == (2, 32)
        assert batch["global_mask"].sum(axis=1).tolist() == [2, 2]


class TestLongQuestions:
    def test_questions_are_cut_with_one_warning(self, tokenizer):
        preprocessor = preprocessor_of(tokenizer, max_question_length=5)
        x = {"question": [words(9, "q"), "q1", words(6, "q")], "context": ["here"] * 3}
        with pytest.warns(UserWarning, match="2 of 3 questions were longer than 5") as record:
            batch = preprocessor(x)
        assert len(record) == 1
        assert record[0].filename == __file__
        assert batch["global_mask"].sum(axis=1).tolist() == [6, 2, 6]

    def test_a_question_that_leaves_no_room_is_named(self, tokenizer):
        preprocessor = preprocessor_of(tokenizer, sequence_length=32, stride=2)
        x = {"question": ["q1", words(40, "q")], "context": [words(50)] * 2}
        with pytest.raises(ValueError, match=r"shorten input 1.*sequence_length=32"):
            preprocessor.tokenize(x)

    @pytest.mark.parametrize("length", [0, -1, 2.5, True, None])
    def test_the_limit_is_a_number_of_tokens(self, tokenizer, length):
        with pytest.raises(ValueError, match="`max_question_length` must be a positive int"):
            preprocessor_of(tokenizer, max_question_length=length)


class TestInput:
    def test_one_question_may_be_two_strings(self, tokenizer):
        preprocessor = preprocessor_of(tokenizer)
        one = preprocessor({"question": "q1", "context": "w1 w2"})
        listed = preprocessor({"question": ["q1"], "context": np.array(["w1 w2"])})
        np.testing.assert_array_equal(one["token_ids"], listed["token_ids"])

    def test_an_empty_question_and_an_empty_context_are_rows(self, tokenizer):
        examples = preprocessor_of(tokenizer).tokenize(
            {"question": ["", "q1", ""], "context": ["w1", "", ""]}
        )
        assert examples.lengths.tolist() == [4, 4, 3]
        assert examples.windows.lengths.tolist() == [1, 0, 0]

    def test_no_questions_are_no_rows(self, tokenizer):
        assert len(preprocessor_of(tokenizer).tokenize({"question": [], "context": []})) == 0

    def test_lists_of_unequal_length_are_refused(self, tokenizer):
        with pytest.raises(ValueError, match="Received: 2 questions, 1 contexts"):
            preprocessor_of(tokenizer).tokenize({"question": ["a", "b"], "context": ["c"]})

    @pytest.mark.parametrize("x", [("who", "they"), (["who"], ["they"]), ["who"], "who"])
    def test_what_is_no_dict_is_refused(self, tokenizer, x):
        with pytest.raises(TypeError, match=r'given as \{"question": .*bare tuple'):
            preprocessor_of(tokenizer).tokenize(x)

    @pytest.mark.parametrize("x", [{"question": ["a"]}, {"text": ["a"], "text_pair": ["b"]}])
    def test_other_keys_are_refused(self, tokenizer, x):
        with pytest.raises(ValueError, match='keys "question" and "context"'):
            preprocessor_of(tokenizer).tokenize(x)

    def test_what_is_no_text_is_named_with_its_place(self, tokenizer):
        with pytest.raises(TypeError, match=r"context\[1\]=3 of type int"):
            preprocessor_of(tokenizer).tokenize({"question": ["a", "b"], "context": ["c", 3]})


def test_settings_survive_a_configuration_and_a_folder(tokenizer, tmp_path):
    settings = {"sequence_length": 48, "stride": 5, "max_question_length": 9}
    preprocessor = preprocessor_of(tokenizer, **settings)
    again = QuestionAnswererPreprocessor.from_config(preprocessor.get_config())
    assert {name: getattr(again, name) for name in settings} == settings
    encoder = kerasbert.Encoder(
        kerasbert.EncoderConfig(
            vocabulary_size=tokenizer.vocabulary_size(),
            num_layers=1,
            num_heads=1,
            hidden_dim=4,
            intermediate_dim=4,
        )
    )
    kerasbert.QuestionAnswerer(encoder, preprocessor).save_to_preset(tmp_path)
    again = QuestionAnswererPreprocessor.from_preset(tmp_path, stride=6)
    assert {name: getattr(again, name) for name in settings} == {**settings, "stride": 6}


def _tokens(examples, row):
    return range(*examples.tokens_of(row).indices(len(examples.texts.offsets)))
