import sys

import pytest

from kerasbert.data import LabelledTexts
from kerasbert.pipelines import checking

TRAIN = LabelledTexts([f"text {i}" for i in range(12)], ["a", "b"] * 6)
PAIRS = LabelledTexts(TRAIN.texts, TRAIN.labels, TRAIN.texts)


def test_good_data_passes():
    checking.check_data(TRAIN, LabelledTexts(["x"], ["a"]))
    checking.check_data(PAIRS, PAIRS)


@pytest.mark.parametrize(
    ("train", "evaluation", "message"),
    [
        (LabelledTexts(["x"] * 9, ["a", "b", "c"] * 3), TRAIN, "at least 10 texts.*9 texts"),
        (LabelledTexts(["x"] * 12, ["a"] * 12), TRAIN, r"two different labels.*\['a'\]"),
        (TRAIN, LabelledTexts(["x", "y"], ["a", "zebra"]), r"1 of them, \['zebra'\]"),
        (TRAIN, PAIRS, "training pairs=False, evaluation pairs=True"),
    ],
)
def test_data_that_cannot_work_is_refused(train, evaluation, message):
    with pytest.raises(ValueError, match=message):
        checking.check_data(train, evaluation)


@pytest.mark.parametrize(
    ("package", "extra"), [("matplotlib", "demo"), ("ai_edge_litert", "export")]
)
def test_a_missing_package_is_named_with_its_extra(monkeypatch, package, extra):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"`{package}`.*kerasbert\[{extra}\]"):
        checking.check_packages()


def test_files_that_are_not_of_an_earlier_run_are_not_overwritten(tmp_path):
    (tmp_path / "student").mkdir()
    with pytest.raises(ValueError, match=r"would be overwritten.*\['student'\]"):
        checking.check_folder_is_ours(tmp_path, ["teacher", "student"])
    (tmp_path / "stages.json").write_text("{}")
    checking.check_folder_is_ours(tmp_path, ["teacher", "student"])


def test_two_texts_joined_differently_have_different_fingerprints():
    one, other = LabelledTexts(["ab", "c"], ["x", "x"]), LabelledTexts(["a", "bc"], ["x", "x"])
    assert checking.data_fingerprint(one) != checking.data_fingerprint(other)
