"""Answers from text, against a model and a tokenizer of `transformers` and the official rules."""

import itertools
import math

import numpy as np
import pytest
import torch
import transformers

import kerasbert
from tests.parity import tiny_models
from tests.text.kinds import KINDS

QUESTIONS = ["Who sat there?", "When does the kettle whistle?", "How many?", "Where?"]
CONTEXTS = [
    "She sat in the naïve café on Monday; on Tuesday, though,  Schrödinger's cat sat there. " * 2,
    "The old kettle whistles at seven, the new one at eight, and the third one never.",
    "Three pizzas for £12.50.",
    "In the living-room (not too loud), or in the 東京 of the 1990s.",
]
LENGTHS = {"truncation": "only_second", "max_length": 36, "stride": 6}
CASES = {
    "bert": "word piece uncased",
    "distilbert": "word piece uncased",
    "roberta": "roberta",
    "longformer": "roberta",
}


@pytest.fixture(scope="module", params=CASES)
def models(request, tmp_path_factory):
    """A model of `transformers`, its tokenizer, and ours read from their folder."""
    folder = KINDS[CASES[request.param]].make(tmp_path_factory.mktemp("checkpoint"))
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    of_tokens = {name: getattr(tokenizer, name) for name in ("pad_token_id", "sep_token_id")}
    make = getattr(tiny_models, request.param)
    config = make(vocab_size=len(tokenizer), **of_tokens)
    theirs = tiny_models.randomize(tiny_models.with_head(config, "question_answerer"))
    theirs.save_pretrained(folder)
    assert type(theirs) is transformers.MODEL_FOR_QUESTION_ANSWERING_MAPPING[type(config)]
    preprocessor = kerasbert.QuestionAnswererPreprocessor(
        kerasbert.Tokenizer.from_preset(folder), sequence_length=36, stride=6, buckets=()
    )
    return (
        theirs,
        tokenizer,
        kerasbert.QuestionAnswerer.from_preset(folder, preprocessor=preprocessor),
    )


def official(model, tokenizer, max_answer_length=30):
    """Per question the best answer, and by how much the score of none exceeds its own: the rules of
    `run_qa.py` and `utils_qa.py`, every token being tried as start and as end."""
    features = tokenizer(
        QUESTIONS,
        CONTEXTS,
        padding="max_length",
        return_overflowing_tokens=True,
        return_offsets_mapping=True,
        return_tensors="pt",
        **LENGTHS,
    )
    origin = features.pop("overflow_to_sample_mapping").numpy()
    offsets = features.pop("offset_mapping").tolist()
    with torch.no_grad():
        outputs = model(**features)
    starts, ends = outputs.start_logits.numpy(), outputs.end_logits.numpy()
    for question in range(len(QUESTIONS)):
        best, null = (-math.inf, None), math.inf
        for row in np.flatnonzero(origin == question):
            null = min(null, starts[row, 0] + ends[row, 0])
            context = [at for at, part in enumerate(features.sequence_ids(row)) if part == 1]
            for first, last in itertools.product(context, repeat=2):
                if first <= last < first + max_answer_length:
                    span = (offsets[row][first][0], offsets[row][last][1])
                    best = max(best, (starts[row, first] + ends[row, last], span))
        yield CONTEXTS[question][slice(*best[1])].strip(), null - best[0]


def test_answers_and_scores_of_none_are_those_of_transformers(models):
    theirs, tokenizer, ours = models
    expected = list(official(theirs, tokenizer))
    found = ours.answer(QUESTIONS, CONTEXTS)
    assert [each["text"] for each in found] == [text for text, _ in expected]
    for each, context in zip(found, CONTEXTS, strict=True):
        assert context[each["start"] : each["end"]] == each["text"]
    texts, no_answer_scores = ours.predict_answers({"question": QUESTIONS, "context": CONTEXTS})
    assert texts == [each["text"] for each in found]
    np.testing.assert_allclose(no_answer_scores, [score for _, score in expected], atol=1e-3)
