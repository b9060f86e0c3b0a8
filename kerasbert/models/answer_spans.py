"""Logits of windows to answers: the best spans of a context, or none.

The rules are those of SQuAD 2.0 in BERT's `run_squad.py` (Devlin et al., 2018, section 4.3), but
all spans of a window are considered, and equal ones of several windows count once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kerasbert.text.question_answering import QuestionExamples


@dataclass(frozen=True)
class FoundAnswers:
    """What a model finds for one question.

    Attributes:
        context: The text that the answers are parts of.
        spans: `(start, end)` in characters, without whitespace at the ends, the likeliest first.
        scores: The sum of the logits of each span's ends.
        null_score: The same sum of the row's first token, which stands for no answer: the least
            over the windows, since a window without the answer says rightly that it has none.
    """

    context: str
    spans: list[tuple[int, int]]
    scores: list[float]
    null_score: float

    @property
    def text(self) -> str:
        """The likeliest answer, however likely none is; `""` for a context without text."""
        return self.context[slice(*self.spans[0])] if self.spans else ""

    @property
    def no_answer_score(self) -> float:
        """How much likelier no answer is than the best one, as a difference of scores."""
        return self.null_score - self.scores[0] if self.spans else float("inf")

    def ranked(self, n_best: int, threshold: float | None) -> list[dict[str, Any]]:
        """The likeliest answers with their probabilities among the `n_best`.

        Args:
            n_best: How many spans are considered; no answer is one of them.
            threshold: No answer ranks first if its score exceeds the best span's by more than this.
                `None`: it is not considered.

        Returns:
            A list of `{"text", "start", "end", "score"}`, the best first; no answer has the text
            `""`, and `None` for `start` and `end`.
        """
        entries = list(zip(self.spans, self.scores, strict=True))[:n_best]
        none = ((None, None), self.null_score)
        if threshold is not None or not entries:
            if len(entries) == n_best > 1 and entries[-1][1] < self.null_score:
                entries.pop()
            entries.append(none)
        scores = np.array([score for _, score in entries], np.float64)
        weights = np.exp(scores - scores.max())
        shifts = [threshold or 0.0 if entry is none else 0.0 for entry in entries]
        order = np.argsort(shifts - scores, kind="stable")  # of equal ones, the span comes first
        probabilities = weights / weights.sum()
        return [self._described(entries[at][0], probabilities[at]) for at in order]

    def _described(self, span, probability):
        start, end = span
        text = "" if start is None else self.context[start:end]
        return {"text": text, "start": start, "end": end, "score": float(probability)}


def find_answers(
    logits: np.ndarray, examples: QuestionExamples, max_answer_length: int, n_best: int
) -> list[FoundAnswers]:
    """The likeliest answers to each question.

    Args:
        logits: float array (rows, length, 2).
        examples: The rows.
        max_answer_length: The most tokens of an answer.
        n_best: How many answers are kept for each question.
    """
    bounds = np.searchsorted(examples.origin, np.arange(examples.num_inputs + 1))
    found = []
    for question, context in enumerate(examples.contexts):
        rows = range(bounds[question], bounds[question + 1])
        num_visible = _num_visible_before(context)
        windows = [
            _window_spans(
                logits[row, examples.columns_of(row)],
                examples.texts.offsets[examples.tokens_of(row)],
                num_visible,
                max_answer_length,
                n_best,
            )
            for row in rows
        ]
        offsets, scores = (np.concatenate(parts) for parts in zip(*windows, strict=True))
        spans = _distinct(context, offsets, scores, n_best)
        null_score = float(logits[rows.start : rows.stop, 0].sum(axis=-1).min())
        found.append(FoundAnswers(context, list(spans), list(spans.values()), null_score))
    return found


def _num_visible_before(context: str) -> np.ndarray:
    """How many characters before each one, and in all, are not whitespace."""
    is_visible = np.fromiter((not character.isspace() for character in context), bool)
    return np.concatenate(([0], np.cumsum(is_visible)))


def _window_spans(logits, offsets, num_visible, max_answer_length, n_best):
    """Offsets (n, 2) and scores (n,) of the best spans that are more than whitespace.

    Args:
        logits: (tokens, 2) of the context's tokens in the window.
        offsets: (tokens, 2) of the same.
    """
    width = min(max_answer_length, len(offsets))
    if width == 0:
        return np.empty((0, 2), int), np.empty(0)
    scores = logits[:, :1] + _ahead(logits[:, 1], width)  # (first token, further tokens)
    is_visible = _ahead(num_visible[offsets[:, 1]], width) > num_visible[offsets[:, :1]]
    scores = np.where(is_visible, scores, -np.inf).reshape(-1)
    count = min(n_best, int(np.count_nonzero(is_visible)))
    best = np.argpartition(-scores, count - 1)[:count]
    first, further = np.divmod(best, width)
    return np.stack((offsets[first, 0], offsets[first + further, 1]), axis=1), scores[best]


def _ahead(values: np.ndarray, width: int) -> np.ndarray:
    """Each value and those after it, `width` in all; zeros after the last one."""
    return np.lib.stride_tricks.sliding_window_view(np.pad(values, (0, width - 1)), width)


def _distinct(context, offsets, scores, n_best) -> dict[tuple[int, int], float]:
    """The best spans without whitespace at their ends, each once with its highest score."""
    spans: dict[tuple[int, int], float] = {}
    for at in np.argsort(-scores, kind="stable"):
        start, end = offsets[at]
        text = context[start:end]
        start, end = end - len(text.lstrip()), start + len(text.rstrip())
        spans.setdefault((int(start), int(end)), float(scores[at]))
        if len(spans) == n_best:
            break
    return spans
