"""SQuAD's figures, against examples worked by hand with the rules of the official scripts."""

import itertools
import random

import pytest

from kerasbert.metrics import best_threshold, exact_match, normalize_answer, squad, token_f1


@pytest.mark.parametrize(
    ("text", "normalized"),
    [
        ("  The\tquick,\n brown fox. ", "quick brown fox"),
        ("an apple a day", "apple day"),
        ("Theatre, another, data", "theatre another data"),  # articles are whole words
        ("U.S. $5.00 (approx.)", "us 500 approx"),  # punctuation leaves no space
        ("the-a", "thea"),  # it goes before articles do
        ("«L'été» naïve 東京。", "«lété» naïve 東京。"),  # only ASCII is punctuation
        ("a The AN !", ""),
    ],
)
def test_what_is_compared(text, normalized):
    assert normalize_answer(text) == normalized


@pytest.mark.parametrize(
    ("prediction", "answers", "exact", "f1"),
    [
        ("the Normans!", ["Normans"], 1, 1),
        ("10th century", ["in the 10th and 11th centuries"], 0, 2 * (1 / 2) * (1 / 5) / 0.7),
        ("Paris Paris", ["Paris"], 0, 2 * 0.5 * 1 / 1.5),  # words count as often as they stand
        ("Rome", ["Paris", "in Rome", "Oslo"], 0, 2 * 1 * 0.5 / 1.5),  # the best answer counts
        ("Rome", ["Paris"], 0, 0),
        ("", [], 1, 1),
        ("Rome", [], 0, 0),
        ("", ["Rome"], 0, 0),
        ("the", [], 1, 1),  # nothing is left of it
        ("", ["the", "Rome"], 0, 0),  # of "the" neither, so it is no right answer
    ],
)
def test_exact_match_and_f1_of_one_answer(prediction, answers, exact, f1):
    assert exact_match(prediction, answers) == exact
    assert token_f1(prediction, answers) == pytest.approx(f1)


REFERENCES = {"a": ["Paris", "in Paris"], "b": ["the 10th century"], "c": [], "d": []}
PREDICTIONS = {"a": "Paris", "b": "10th", "c": "", "d": "Oslo"}


def test_figures_of_all_of_the_answerable_and_of_the_others():
    f1_of_b = 2 * 1 * 0.5 / 1.5
    assert squad(PREDICTIONS, REFERENCES) == pytest.approx(
        {
            "exact": 50,
            "f1": 100 * (1 + f1_of_b + 1 + 0) / 4,
            "total": 4,
            "HasAns_exact": 50,
            "HasAns_f1": 100 * (1 + f1_of_b) / 2,
            "HasAns_total": 2,
            "NoAns_exact": 50,
            "NoAns_f1": 50,
            "NoAns_total": 2,
        }
    )


def test_data_of_one_kind_has_no_figures_of_the_other():
    figures = squad({"a": "Paris"}, {"a": ["Paris"]})
    assert figures["HasAns_total"] == 1
    assert not any(name.startswith("NoAns") for name in figures)


def test_what_is_above_the_threshold_counts_as_no_answer():
    scores = {"a": 0.3, "b": 0.7, "c": 0.5, "d": 0.6}
    figures = squad(PREDICTIONS, REFERENCES, scores, threshold=0.5)
    assert figures["exact"] == 75  # a stays right, b is given up, c stays right, d turns right
    assert figures["HasAns_f1"] == 50
    assert figures["NoAns_f1"] == 100


def test_without_another_threshold_probabilities_change_nothing():
    scores = dict.fromkeys(REFERENCES, 1.0)
    assert squad(PREDICTIONS, REFERENCES, scores)["f1"] == squad(PREDICTIONS, REFERENCES)["f1"]


def test_the_best_threshold_is_searched_from_the_lowest_score_on():
    # All "none": 2 of 4. From the lowest score on: a is right (3), d wrong (2), c right either
    # way (2), b has F1 2/3 and no exact match.
    scores = {"a": 0.1, "d": 0.2, "c": 0.3, "b": 0.4}
    assert best_threshold(PREDICTIONS, REFERENCES, scores, "exact") == (0.1, 75.0)
    figures = squad(PREDICTIONS, REFERENCES, scores)
    assert (figures["best_exact"], figures["best_exact_thresh"]) == (75, 0.1)
    assert (figures["best_f1"], figures["best_f1_thresh"]) == (75, 0.1)
    scores["b"] = 0.15
    threshold, f1 = best_threshold(PREDICTIONS, REFERENCES, scores, "f1")
    assert (threshold, f1) == (0.15, pytest.approx(100 * (3 + 2 / 3) / 4))


def test_the_threshold_zero_means_that_no_answer_is_always_best():
    scores = {"a": 0.9, "b": 0.8, "c": 0.2, "d": 0.1}
    predictions = {**PREDICTIONS, "c": "Bonn"}
    assert best_threshold(predictions, REFERENCES, scores, "exact") == (0.0, 50.0)


@pytest.mark.parametrize("metric", ["f1", "exact"])
def test_no_threshold_is_better_and_the_best_gives_what_it_promises(metric):
    """Also with negative scores and with equal ones."""
    generator = random.Random(1)
    texts = ["", "Paris", "in Paris", "the 10th century", "Oslo"]
    for _ in range(40):
        keys = range(generator.randint(1, 9))
        references = {key: generator.sample(texts[1:], generator.choice([0, 1, 2])) for key in keys}
        predictions = {key: generator.choice(texts) for key in keys}
        scores = {key: float(generator.randint(-3, 3)) for key in keys}
        threshold, best = best_threshold(predictions, references, scores, metric)
        figures = {
            candidate: squad(predictions, references, scores, candidate)[metric]
            for candidate in [threshold, *(score / 2 for score in range(-9, 9))]
        }
        assert figures[threshold] == pytest.approx(best)
        assert max(figures.values()) == pytest.approx(best)


@pytest.mark.parametrize(
    ("predictions", "scores", "message"),
    [
        ({"a": "Paris"}, None, "`predictions` lacks ids.*3 such ids, among them 'b'"),
        ({**PREDICTIONS, "x": ""}, None, "`predictions` has ids that.*among them 'x'"),
        (PREDICTIONS, {"a": 0.5}, "`no_answer_scores` lacks ids.*'b'"),
        (PREDICTIONS, dict.fromkeys("abcdx", 0.5), "`no_answer_scores` has ids that.*'x'"),
        (PREDICTIONS, {**dict.fromkeys("abd", 0.5), "c": float("nan")}, "NaN for the id 'c'"),
    ],
)
def test_missing_and_unknown_ids_are_named(predictions, scores, message):
    with pytest.raises(ValueError, match=message):
        squad(predictions, REFERENCES, scores)


def test_other_bad_input_is_named():
    with pytest.raises(ValueError, match="no questions"):
        squad({}, {})
    with pytest.raises(TypeError, match=r"string.*Received: None of type NoneType"):
        squad({"a": None}, {"a": ["Paris"]})
    with pytest.raises(TypeError, match="list of strings"):
        exact_match("Paris", "Paris")
    with pytest.raises(ValueError, match="metric='em'"):
        best_threshold({"a": ""}, {"a": []}, {"a": 0}, "em")


def test_the_order_of_questions_does_not_matter():
    scores = {"a": 0.1, "d": 0.2, "c": 0.3, "b": 0.4}
    expected = squad(PREDICTIONS, REFERENCES, scores, 0.2)
    for order in itertools.permutations(REFERENCES):
        references = {key: REFERENCES[key] for key in order}
        assert squad(PREDICTIONS, references, scores, 0.2) == pytest.approx(expected)
