import numpy as np
import pytest

from kerasbert.export import LiteRTClassifier


@pytest.fixture(scope="module")
def runner(bert_reports):
    return LiteRTClassifier(bert_reports[None].path, num_threads=1)


def test_describes_the_file(runner):
    assert runner.input_names == ("padding_mask", "segment_ids", "token_ids")
    assert runner.output_name == "probabilities"
    assert runner.sequence_length == 32
    assert runner.labels == ("alarm", "music", "lights")


def test_rows_are_padded_and_freed_of_padding_to_the_files_length(runner, bert):
    inputs = bert.preprocessor(["play some music", "wake me"])
    widths = {}
    for width in (16, 32, 64):
        padded = {k: np.pad(v, ((0, 0), (0, width - v.shape[1]))) for k, v in inputs.items()}
        widths[width] = runner.predict_on_batch(padded)
    np.testing.assert_array_equal(widths[16], widths[32])
    np.testing.assert_array_equal(widths[64], widths[32])


def test_other_entries_are_ignored(runner, bert):
    inputs = bert.preprocessor(["play some music"])
    more = {"another": np.zeros((1, 3)), **inputs}
    np.testing.assert_array_equal(runner.predict_on_batch(more), runner.predict_on_batch(inputs))


def test_missing_inputs_are_named(runner, bert):
    inputs = bert.preprocessor(["play some music"])
    del inputs["segment_ids"]
    with pytest.raises(ValueError, match=r"missing=\['segment_ids'\]"):
        runner.predict_on_batch(inputs)


def test_text_that_does_not_fit_is_refused(runner):
    ids = np.ones((1, 40), "int32")
    with pytest.raises(ValueError, match="tokens=40, sequence_length=32"):
        runner.predict_on_batch({"token_ids": ids, "segment_ids": ids, "padding_mask": ids})


def test_no_rows_give_no_rows(runner):
    none = np.zeros((0, 16), "int32")
    outputs = runner.predict_on_batch(
        {"token_ids": none, "segment_ids": none, "padding_mask": none}
    )
    assert outputs.shape == (0, 3)


def test_missing_and_foreign_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tflite"):
        LiteRTClassifier(tmp_path / "nowhere.tflite")
    foreign = tmp_path / "foreign.tflite"
    foreign.write_bytes(b"not a model")
    with pytest.raises(ValueError, match=r"no LiteRT model.*foreign\.tflite"):
        LiteRTClassifier(foreign)
