"""Answers as people write them to the tokens that a model is trained to find."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from kerasbert.text.inputs import as_texts
from kerasbert.text.preprocessor import caller_depth
from kerasbert.text.question_answering import QuestionExamples

# Both ends of no answer: the row's first token, [CLS] (Devlin et al., 2018, section 4.3).
NO_ANSWER = 0
_FORMS = (
    '{"text": "...", "start": 7}, with lists of texts and of starts for several, or None if there '
    "is none"
)


class Answer(NamedTuple):
    """A right answer.

    Attributes:
        text: What the context has there.
        start: The character of the context at which it begins.
    """

    text: str
    start: int


def read_answers(y: Any) -> list[list[Answer]]:
    """The right answers to each question.

    Args:
        y: One entry for each question. For no answer: `None`, an empty dict or list, or the text
            `""`. For one: `{"text", "start"}`, where `"answer_start"` means the same. For several:
            SQuAD's `{"text": [...], "answer_start": [...]}`, or a list of dicts. Or a dict of
            columns with these names, whose lists have one entry for each question.

    Raises:
        ValueError: An entry is something else; the message names the question.
        TypeError: The text of an answer is not a string.
    """
    if isinstance(y, Mapping):
        columns = {name: list(column) for name, column in y.items()}
        y = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [_answers(given, question) for question, given in enumerate(y)]


def _answers(given: Any, question: int) -> list[Answer]:
    if given is None:
        return []
    if isinstance(given, list):
        return [answer for each in given for answer in _answers(each, question)]
    if not isinstance(given, Mapping) or (given and "text" not in given):
        raise ValueError(
            f"The answer to a question must be {_FORMS}. "
            f"Received: {given!r:.200} for question {question}."
        )
    texts = as_texts(given.get("text", []), f"text of answer {question}")
    starts = np.atleast_1d(given.get("start", given.get("answer_start"))).tolist()
    if len(starts) != len(texts) and any(texts):
        raise ValueError(
            f"An answer must have as many starts as texts. Received: {len(texts)} texts, "
            f"{len(starts)} starts for question {question}."
        )
    return [Answer(text, _start(starts[at], question)) for at, text in enumerate(texts) if text]


def _start(start: Any, question: int) -> int:
    if not isinstance(start, Integral) or isinstance(start, bool) or start < 0:
        raise ValueError(
            'An answer must have the character at which it begins, `"start"`, an int >= 0. '
            f"Received: start={start!r} for question {question}."
        )
    return int(start)


class AnswerTargets:
    """The first and the last token of the answer in each row.

    Args:
        positions: int32 array (n, 2).
    """

    def __init__(self, positions: np.ndarray):
        self.positions = positions

    def __len__(self):
        return len(self.positions)

    def batch(self, rows: np.ndarray, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
        """int32 (batch, 2); a row that fills up the batch has no answer."""
        return np.where(rows[:, None] < 0, NO_ANSWER, self.positions[rows])


def answer_positions(answers: list[list[Answer]], examples: QuestionExamples) -> np.ndarray:
    """Where each row's answer begins and ends.

    Args:
        answers: Of each question; the first one counts.
        examples: The rows; each holds a window of a question's context.

    Returns:
        int32 array (rows, 2): the columns of the answer's first and last token; (0, 0) where there
        is no answer, or the window does not hold all of it.

    Raises:
        ValueError: The context does not have the answer's text at its start.
    """
    spans = np.full((len(answers), 2), -1)
    is_answered = np.array([bool(given) for given in answers], bool)
    for question in np.flatnonzero(is_answered):
        spans[question] = _tokens_of(answers[question][0], question, examples)
    origin, windows = examples.origin, examples.windows
    within = spans[origin] - windows.first[:, None]
    is_whole = (within[:, 0] >= 0) & (within[:, 1] < windows.lengths) & (spans[origin, 0] >= 0)
    _warn_of_cut_answers(np.count_nonzero(is_answered) - len(np.unique(origin[is_whole])))
    columns = within + np.asarray(examples.places)[:, None]
    return np.where(is_whole[:, None], columns, NO_ANSWER).astype(np.int32)


def _tokens_of(answer: Answer, question: int, examples: QuestionExamples) -> tuple[int, int]:
    """The first and the last token of the context that the answer has a part in; -1 if none."""
    end = answer.start + len(answer.text)
    found = examples.contexts[question][answer.start : end]
    if found != answer.text:
        raise ValueError(
            "The context must have the text of an answer at its `start`, which counts characters "
            f"(not bytes). Correct one of them. Received: {answer.text!r:.200} with "
            f"start={answer.start} for question {question}, where the context has {found!r:.200}."
        )
    offsets = examples.texts.offsets[examples.texts.tokens_of(question)]
    touched = np.flatnonzero((offsets[:, 1] > answer.start) & (offsets[:, 0] < end))
    return (touched[0], touched[-1]) if len(touched) else (-1, -1)


def _warn_of_cut_answers(count: int) -> None:
    if count:
        warnings.warn(
            f"{count} answers lie in no window as a whole, so their questions are trained as if "
            "they had none. Raise the preprocessor's `stride` or `sequence_length`.",
            stacklevel=caller_depth(),
        )
