import itertools

import numpy as np
import pytest
from transformers import PreTrainedTokenizerFast

from kerasbert import Tokenizer
from kerasbert.text.aligned import align
from kerasbert.text.windowing import WindowingPreprocessor
from kerasbert.text.windows import windows_of

TEXTS = [
    "wake me at seven or at eight, whichever comes first",
    "",
    "play jazz",
    "naïve\u200b cafés",
]
QUESTIONS = ["when", "who sings this song", "what", "where is it"]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS + QUESTIONS, vocabulary_size=80)


@pytest.fixture(scope="module")
def theirs(tokenizer):
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer.rust,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        mask_token="[MASK]",
    )


def rows_of(examples):
    return [
        row[:length].tolist()
        for row, length in zip(
            examples.batch(np.arange(len(examples)))["token_ids"], examples.lengths, strict=True
        )
    ]


class TestAlign:
    def test_offsets_and_words_are_the_tokenizers_own(self, tokenizer):
        texts = align(tokenizer.rust, TEXTS)

        for index, text in enumerate(TEXTS):
            encoding = tokenizer.encode(text)
            tokens = texts.tokens_of(index)
            assert texts.token_ids[index].tolist() == encoding.ids[1:-1]
            assert texts.offsets[tokens].tolist() == [list(pair) for pair in encoding.offsets[1:-1]]
            assert texts.words[tokens].tolist() == encoding.word_ids[1:-1]

    def test_items_of_a_list_are_words(self, tokenizer):
        texts = align(tokenizer.rust, [["wake", "seven,eight", "", "me"]])

        assert sorted(set(texts.words.tolist())) == [0, 1, 3]

    def test_no_text(self, tokenizer):
        assert len(align(tokenizer.rust, [])) == 0


class TestWindowsOf:
    @pytest.mark.parametrize("stride", [0, 1, 3])
    def test_every_token_is_in_a_window_and_neighbours_share_the_stride(self, stride):
        lengths = np.array([0, 1, 4, 5, 6, 23])
        windows = windows_of(lengths, np.full(6, 4), stride)

        for text, length in enumerate(lengths):
            chosen = windows.origin == text
            spans = [
                range(first, first + size)
                for first, size in zip(windows.first[chosen], windows.lengths[chosen], strict=True)
            ]
            assert sorted({token for span in spans for token in span}) == list(range(length))
            assert all(len(set(a) & set(b)) == stride for a, b in itertools.pairwise(spans))
            assert all(span.stop < length for span in spans[:-1])  # no window for nothing

    @pytest.mark.parametrize("stride", [4, 5])
    def test_a_stride_that_leaves_no_new_token_is_refused(self, stride):
        with pytest.raises(ValueError, match="less than the tokens that a window has room for"):
            windows_of(np.array([5]), np.array([4]), stride)

    def test_a_text_that_fits_needs_no_step(self):
        assert len(windows_of(np.array([4]), np.array([4]), 9).origin) == 1


class TestWindowingPreprocessor:
    def test_windows_are_those_of_transformers(self, tokenizer, theirs):
        preprocessor = WindowingPreprocessor(tokenizer, sequence_length=9, stride=2)

        found = preprocessor._windows(align(tokenizer.rust, TEXTS))

        wanted = theirs(
            TEXTS, truncation=True, max_length=9, stride=2, return_overflowing_tokens=True
        )
        assert rows_of(found) == wanted["input_ids"]
        assert found.origin.tolist() == wanted["overflow_to_sample_mapping"]

    def test_windows_after_another_text_are_those_of_transformers(self, tokenizer, theirs):
        preprocessor = WindowingPreprocessor(tokenizer, sequence_length=20, stride=1)
        before = align(tokenizer.rust, QUESTIONS).token_ids

        found = preprocessor._windows(align(tokenizer.rust, TEXTS), before)

        wanted = theirs(
            QUESTIONS,
            TEXTS,
            truncation="only_second",
            max_length=20,
            stride=1,
            return_overflowing_tokens=True,
            return_offsets_mapping=True,
        )
        assert rows_of(found) == wanted["input_ids"]
        for row in range(len(found)):
            offsets = wanted["offset_mapping"][row]
            columns, tokens = found.columns_of(row), found.tokens_of(row)
            assert [list(pair) for pair in offsets[columns]] == found.texts.offsets[tokens].tolist()

    def test_what_stands_before_must_leave_room(self, tokenizer):
        preprocessor = WindowingPreprocessor(tokenizer, sequence_length=16, stride=1)
        before = align(tokenizer.rust, QUESTIONS).token_ids

        with pytest.raises(ValueError, match="Raise it, or shorten input 1"):
            preprocessor._windows(align(tokenizer.rust, TEXTS), before)

    @pytest.mark.parametrize("stride", [-1, 1.5, True, None])
    def test_a_stride_is_a_number_of_tokens(self, tokenizer, stride):
        with pytest.raises(ValueError, match="must be an int >= 0"):
            WindowingPreprocessor(tokenizer, stride=stride)
