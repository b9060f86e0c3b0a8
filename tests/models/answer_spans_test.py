"""Answers from the logits of windows, against the official rules worked anew here."""

import itertools
import math

import numpy as np
import pytest

from kerasbert import QuestionAnswererPreprocessor, Tokenizer
from kerasbert.models.answer_spans import FoundAnswers, find_answers
from kerasbert.text.word_piece import word_piece
from tests.text.kinds import KINDS

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "who", *(f"w{i}" for i in range(40))]
LONG = " ".join(WORDS[6:])


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer(word_piece({word: index for index, word in enumerate(WORDS)}))


@pytest.fixture(scope="module")
def examples(tokenizer):
    """Contexts of five windows, of one, and without text."""
    preprocessor = QuestionAnswererPreprocessor(tokenizer, sequence_length=16, stride=4)
    contexts = [LONG, "w3  w1 w4 w1", " "]
    return preprocessor.tokenize({"question": ["who"] * 3, "context": contexts})


def random_logits(examples, seed=0):
    return np.random.default_rng(seed).normal(size=(len(examples), 16, 2)).astype("float32")


def flat_logits(examples):
    return np.full((len(examples), 16, 2), -1.0, "float32")


def official(logits, examples, question, n_best, max_answer_length):
    """The n-best list of transformers' `utils_qa.py` for SQuAD 2.0, every token being tried as
    start and as end, and a span that several windows give kept once."""
    spans, null = {}, math.inf
    for row in np.flatnonzero(examples.origin == question):
        starts, ends = logits[row].astype("float64").T
        null = min(null, starts[0] + ends[0])
        offsets = examples.texts.offsets[examples.tokens_of(row)].tolist()
        columns = range(examples.columns_of(row).start, examples.columns_of(row).stop)
        for (i, first), (j, last) in itertools.product(
            zip(columns, offsets, strict=True), repeat=2
        ):
            if i <= j < i + max_answer_length:
                span = (first[0], last[1])
                spans[span] = max(spans.get(span, -math.inf), starts[i] + ends[j])
    everything = [*spans.items(), (None, null)]
    listed = sorted(everything, key=lambda entry: -entry[1])[:n_best]
    if (None, null) not in listed:
        listed.append((None, null))
    total = sum(math.exp(score) for _, score in listed)
    return [(span, score, math.exp(score) / total) for span, score in listed]


@pytest.mark.parametrize("question", [0, 1])
@pytest.mark.parametrize(("n_best", "longest"), [(20, 30), (3, 5), (500, 1), (1, 30)])
def test_spans_and_probabilities_are_the_official_ones(examples, question, n_best, longest):
    for seed in range(5):
        logits = random_logits(examples, seed)
        found = find_answers(logits, examples, longest, n_best)[question]
        expected = official(logits, examples, question, n_best, longest)
        spans = [entry for entry in expected if entry[0] is not None]
        assert found.spans[: len(spans)] == [span for span, _, _ in spans]
        if n_best == 1:
            continue  # there the official script may keep no span at all, and then fails
        null = next(score for span, score, _ in expected if span is None)
        assert found.null_score == pytest.approx(null, rel=1e-5)
        assert found.no_answer_score == pytest.approx(null - spans[0][1], rel=1e-5)
        probabilities = {span: probability for span, _, probability in expected}
        for threshold in (-1.0, 0.0, 2.5):
            ranked = found.ranked(n_best, threshold)
            assert (ranked[0]["text"] == "") == (null - spans[0][1] > threshold)
            assert len(ranked) == len(expected)
            for answer in ranked:
                span = None if answer["start"] is None else (answer["start"], answer["end"])
                assert answer["score"] == pytest.approx(probabilities[span], rel=1e-5)


def test_without_a_threshold_no_answer_has_no_share(examples):
    found = find_answers(random_logits(examples), examples, 30, 4)[0]
    ranked = found.ranked(4, None)
    weights = np.exp(np.array(found.scores))
    np.testing.assert_allclose([a["score"] for a in ranked], weights / weights.sum(), rtol=1e-6)
    assert all(answer["text"] == LONG[answer["start"] : answer["end"]] for answer in ranked)


def test_one_window_that_has_the_answer_outweighs_others_that_have_none(examples):
    logits = flat_logits(examples)
    rows = np.flatnonzero(examples.origin == 0)
    logits[rows, 0] = 2.5  # a null score of 5
    logits[rows[1], 0] = 0.5  # of 1
    logits[rows[1], examples.columns_of(rows[1]).start + 1] = 1.5  # a span of 3
    found = find_answers(logits, examples, 30, 20)[0]
    assert found.null_score == 1
    assert found.no_answer_score == 1 - 3
    assert found.ranked(20, threshold=0.0)[0]["text"] == found.text == "w9"  # windows step by 8


def test_a_peak_at_the_first_token_alone_is_no_answer_or_the_best_of_the_rest(examples):
    logits = flat_logits(examples)
    logits[:, 0] = 50.0
    for found in find_answers(logits, examples, 30, 1)[:2]:
        assert found.ranked(1, threshold=0.0)[0]["text"] == ""
        assert found.ranked(1, threshold=None)[0]["text"] == found.text != ""


def test_answers_lie_in_the_context_and_end_after_they_start(examples):
    logits = random_logits(examples)
    row = int(np.flatnonzero(examples.origin == 1)[0])
    context = np.arange(16)[examples.columns_of(row)]
    outside = np.setdiff1d(np.arange(16), context)
    logits[row, outside] = 100.0  # [CLS], question, [SEP], padding
    logits[row, context, 0] = [0, 0, 9, 0]
    logits[row, context, 1] = [0, 9, 0, 2]
    found = find_answers(logits, examples, 30, 20)[1]
    # From the third word to the last, 9 + 2; from a word before it to the second one, 0 + 9.
    assert found.scores[0] == 11
    assert found.text == "w4 w1"


def test_a_limit_is_in_tokens(examples):
    logits = random_logits(examples)
    for found in find_answers(logits, examples, 2, 500):
        assert all(len(found.context[start:end].split()) <= 2 for start, end in found.spans)
    assert len(find_answers(logits, examples, 2, 500)[1].spans) == 4 + 3


def test_a_span_of_two_windows_is_one_answer_with_its_best_score(examples):
    logits = flat_logits(examples)
    shared = LONG.index("w9")  # windows of 12 tokens that share 4 hold w8 to w11 twice
    for row, score in ((0, 4.0), (1, 5.0)):
        column = examples.columns_of(row).start + 9 - int(examples.windows.first[row])
        logits[row, column] = score
    found = find_answers(logits, examples, 1, 500)[0]
    assert found.spans[0] == (shared, shared + 2)
    assert found.scores[0] == 10
    assert len(found.spans) == 40


@pytest.mark.parametrize("kind", ["modernbert", "deberta-v2", "roberta"])
def test_answers_have_no_space_at_their_ends(kind, tmp_path):
    tokenizer = Tokenizer.from_preset(KINDS[kind].make(tmp_path))
    context = " She sat   in the café \n on Monday "
    preprocessor = QuestionAnswererPreprocessor(tokenizer)
    examples = preprocessor.tokenize({"question": "who", "context": context})
    logits = np.random.default_rng(0).normal(size=(1, 64, 2))
    (found,) = find_answers(logits, examples, 30, 10_000)
    texts = [context[start:end] for start, end in found.spans]
    assert all(text and text == text.strip() for text in texts)
    assert len(set(found.spans)) == len(found.spans)
    assert {"She", "Monday", "sat   in the café", context.strip()} <= set(texts)


@pytest.mark.parametrize("threshold", [None, 0.0, 100.0])
def test_a_context_without_text_has_no_answer(examples, threshold):
    found = find_answers(random_logits(examples), examples, 30, 20)[2]
    assert found.spans == []
    assert found.text == ""
    assert found.no_answer_score == math.inf
    assert found.ranked(20, threshold) == [{"text": "", "start": None, "end": None, "score": 1.0}]


def test_no_answer_stands_where_its_threshold_puts_it():
    found = FoundAnswers("ab cd ef", [(0, 2), (3, 5), (6, 8)], [5.0, 3.0, 1.0], null_score=4.0)
    for threshold, place in ((-2.0, 0), (-1.0, 1), (0.0, 1), (0.5, 1), (1.0, 2), (4.0, 3)):
        ranked = found.ranked(20, threshold)
        assert [answer["text"] for answer in ranked].index("") == place, threshold
        spans = [answer["score"] for answer in ranked if answer["text"]]
        assert spans == sorted(spans, reverse=True)
