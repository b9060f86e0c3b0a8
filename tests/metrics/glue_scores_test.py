"""The figures of GLUE's tasks, against scikit-learn and SciPy."""

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics

from kerasbert.metrics import glue
from kerasbert.metrics.glue_scores import GLUE_LABELS

PREDICTIONS = [1, 0, 1, 1, 0, 1, 0, 0]
LABELS = [1, 0, 0, 1, 1, 1, 0, 1]
EXPECTED = {
    "accuracy": sklearn.metrics.accuracy_score(LABELS, PREDICTIONS),
    "f1": sklearn.metrics.f1_score(LABELS, PREDICTIONS),
    "matthews": sklearn.metrics.matthews_corrcoef(LABELS, PREDICTIONS),
}
OFFICIAL = {
    "cola": ["matthews"],
    "mnli": ["accuracy"],
    "mrpc": ["accuracy", "f1"],
    "qnli": ["accuracy"],
    "qqp": ["accuracy", "f1"],
    "rte": ["accuracy"],
    "sst2": ["accuracy"],
    "wnli": ["accuracy"],
}


@pytest.mark.parametrize("task", OFFICIAL)
def test_each_task_has_its_official_figures_for_numbers_and_names(task):
    expected = {name: pytest.approx(EXPECTED[name]) for name in OFFICIAL[task]}
    names = [GLUE_LABELS[task][label] for label in LABELS]
    assert glue(task, PREDICTIONS, LABELS) == expected
    assert glue(task, np.array(PREDICTIONS), names) == expected


def test_similarity_has_two_correlations():
    predictions, labels = [1.5, 2.0, 4.5, 4.0], [1.0, 3.0, 3.0, 5.0]
    assert glue("stsb", predictions, labels) == {
        "pearson": pytest.approx(scipy.stats.pearsonr(predictions, labels).statistic),
        "spearman": pytest.approx(scipy.stats.spearmanr(predictions, labels).statistic),
    }


@pytest.mark.parametrize(
    ("task", "predictions", "labels", "message"),
    [
        ("ax", [1], [1], r"\['cola', 'mnli'.*task='ax'"),
        ("mrpc", ["1", "1"], [1, 1], r"`predictions`.*\['not_equivalent', 'equivalent'\].*'1'"),
        ("mnli", [2, 1], [3, 1], "`labels`.*below 3.*3"),
        ("sst2", [[0.1, 0.9]], [1], r"`predictions`.*shape=\(1, 2\)"),
        ("rte", [0, 1], [0], "as many predictions as labels"),
    ],
)
def test_bad_input_is_one_clear_error(task, predictions, labels, message):
    with pytest.raises(ValueError, match=message):
        glue(task, predictions, labels)
