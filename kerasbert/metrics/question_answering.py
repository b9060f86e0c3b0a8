"""Exact match and F1 of extracted answers, by the rules of the official SQuAD scripts.

SQuAD 1.1: Rajpurkar et al., 2016, arXiv:1606.05250; 2.0: Rajpurkar et al., 2018, arXiv:1806.03822.
"""

from __future__ import annotations

import itertools
import math
import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence

_ARTICLES = re.compile(r"\b(a|an|the)\b")
_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """What is compared of an answer: lower case, no ASCII punctuation, no English articles, single
    spaces.

    Args:
        text: An answer.

    Example:

    >>> normalize_answer("The  U.S. Army")
    'us army'
    """
    without_articles = _ARTICLES.sub(" ", text.lower().translate(_WITHOUT_PUNCTUATION))
    return " ".join(without_articles.split())


def exact_match(prediction: str, answers: Sequence[str]) -> float:
    """Whether an answer equals one of the right ones, after `normalize_answer`.

    Args:
        prediction: The answer given; `""` for none.
        answers: The right answers; `[]` if there is none.

    Returns:
        1.0 or 0.0.

    Raises:
        TypeError: Something is not a string.

    Example:

    >>> exact_match("the Normans", ["Normans", "The Norman people"])
    1.0
    """
    given = normalize_answer(_checked(prediction))
    return float(given in _right_ones(answers))


def token_f1(prediction: str, answers: Sequence[str]) -> float:
    """The harmonic mean of precision and recall of words, best over the right answers.

    Args:
        prediction: The answer given; `""` for none.
        answers: The right answers; `[]` if there is none.

    Returns:
        A number from 0 to 1.

    Raises:
        TypeError: Something is not a string.

    Example:

    >>> token_f1("in the 10th century", ["10th century"])
    0.8
    """
    given = normalize_answer(_checked(prediction)).split()
    return max(_overlap(given, right.split()) for right in _right_ones(answers))


def squad(
    predictions: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    no_answer_scores: Mapping[str, float] | None = None,
    threshold: float = 1.0,
) -> dict[str, float]:
    """The figures of SQuAD's official script 2.0, which are those of 1.1 if all have answers.

    (The scripts differ on right answers of which `normalize_answer` leaves nothing, such as "the":
    2.0 does not count them.)

    Args:
        predictions: The answer given to each question, by id; `""` for none.
        references: The right answers to each question, by id; `[]` if there is none.
        no_answer_scores: How strongly the model thinks that there is no answer, by id: a
            probability, or a difference of scores. `None` (default) takes predictions as they are.
        threshold: What is above it counts as no answer, whatever was predicted. Defaults to 1.0, as
            in the official script; it is used with `no_answer_scores` only.

    Returns:
        `exact` and `f1` in percent and `total`, the number of questions; the same as `HasAns_exact`
        and so on of the questions with an answer, `NoAns_exact` and so on of those without, where
        there are any; with `no_answer_scores` also `best_exact`, `best_exact_thresh`, `best_f1`
        and `best_f1_thresh` (see `best_threshold`).

    Raises:
        ValueError: There are no questions, or ids are missing or unknown.
        TypeError: An answer is not a string.

    Example:

    >>> figures = squad({"q1": "in Paris", "q2": ""}, {"q1": ["Paris"], "q2": []})
    >>> figures["exact"], round(figures["HasAns_f1"], 1), figures["NoAns_f1"]
    (50.0, 66.7, 100.0)
    """
    _check_ids(references, predictions=predictions, no_answer_scores=no_answer_scores)
    exact, f1 = (_scores(name, predictions, references) for name in ("exact", "f1"))
    if no_answer_scores is not None:
        suppressed = {key for key, score in no_answer_scores.items() if score > threshold}
        as_none = {key: float(not references[key]) for key in suppressed}
        exact, f1 = {**exact, **as_none}, {**f1, **as_none}
    figures = _means("", exact, f1, list(references))
    figures |= _means("HasAns_", exact, f1, [key for key in references if references[key]])
    figures |= _means("NoAns_", exact, f1, [key for key in references if not references[key]])
    if no_answer_scores is not None:
        for name in ("exact", "f1"):
            best = best_threshold(predictions, references, no_answer_scores, name)
            figures[f"best_{name}_thresh"], figures[f"best_{name}"] = best
    return figures


def best_threshold(
    predictions: Mapping[str, str],
    references: Mapping[str, Sequence[str]],
    no_answer_scores: Mapping[str, float],
    metric: str = "f1",
) -> tuple[float, float]:
    """The threshold of `squad` with the best figure, as the official script searches it.

    It differs where the script's own threshold does not give the figure that it promises:
    questions of equal scores stand on one side, and if saying "no answer" to all is
    best, the threshold lies below all scores, be they negative (the script: always 0).

    Args:
        predictions: As for `squad`; of each question the best answer, even if "none" is likelier.
        references: As for `squad`.
        no_answer_scores: As for `squad`.
        metric: `"f1"` (default) or `"exact"`: what to maximise.

    Returns:
        The threshold, and the figure that it gives, in percent. Of equally good thresholds the
        lowest.

    Raises:
        ValueError: As for `squad`; a score is NaN, or `metric` is something else.

    Example:

    >>> predictions, references = {"q1": "Paris", "q2": "Rome"}, {"q1": ["Paris"], "q2": []}
    >>> best_threshold(predictions, references, {"q1": -2.5, "q2": 0.5})
    (-2.5, 100.0)
    """
    if metric not in ("f1", "exact"):
        raise ValueError(f'`metric` must be "f1" or "exact". Received: metric={metric!r}.')
    _check_ids(references, predictions=predictions, no_answer_scores=no_answer_scores)
    scores = _scores(metric, predictions, references)
    by_score = sorted(references, key=no_answer_scores.__getitem__)
    lowest = no_answer_scores[by_score[0]]
    threshold = 0.0 if lowest > 0 else math.nextafter(lowest, -math.inf)
    total = best = sum(not answers for answers in references.values())
    for score, keys in itertools.groupby(by_score, key=no_answer_scores.__getitem__):
        total += sum(scores[key] - float(not references[key]) for key in keys)
        if total > best:
            threshold, best = score, total
    return float(threshold), 100.0 * best / len(references)


def _checked(answer) -> str:
    if not isinstance(answer, str):
        raise TypeError(
            'An answer must be a string ("" for none). '
            f"Received: {answer!r} of type {type(answer).__name__}."
        )
    return answer


def _right_ones(answers: Sequence[str]) -> list[str]:
    """The normalized right answers: `[""]` where there is none."""
    if isinstance(answers, str):
        raise TypeError(
            "The right answers to a question must be a list of strings. "
            f"Received: answers={answers!r}."
        )
    normalized = [normalize_answer(_checked(answer)) for answer in answers]
    return [answer for answer in normalized if answer] or [""]


def _overlap(given: list[str], right: list[str]) -> float:
    if not given or not right:
        return float(given == right)
    common = sum((Counter(given) & Counter(right)).values())
    return 2 * common / (len(given) + len(right))


def _scores(name, predictions, references) -> dict[str, float]:
    score = exact_match if name == "exact" else token_f1
    return {key: score(predictions[key], answers) for key, answers in references.items()}


def _means(prefix, exact, f1, keys) -> dict[str, float]:
    if not keys:
        return {}
    return {
        f"{prefix}exact": 100.0 * sum(exact[key] for key in keys) / len(keys),
        f"{prefix}f1": 100.0 * sum(f1[key] for key in keys) / len(keys),
        f"{prefix}total": len(keys),
    }


def _check_ids(references, **given):
    if not references:
        raise ValueError("There are no questions to score. Received: references={}.")
    for name, values in given.items():
        if values is None:
            continue
        for problem, keys in {
            "lacks ids of `references`": references.keys() - values.keys(),
            "has ids that `references` has not": values.keys() - references.keys(),
        }.items():
            if keys:
                raise ValueError(
                    f"`{name}` {problem}. Give exactly one entry for each question. "
                    f"Received: {len(keys)} such ids, among them {min(keys, key=str)!r}."
                )
        if name == "no_answer_scores" and any(map(math.isnan, values.values())):
            key = next(key for key, value in values.items() if math.isnan(value))
            raise ValueError(
                f"`{name}` must be numbers. Look for the cause in the model's logits. "
                f"Received: NaN for the id {key!r}."
            )
