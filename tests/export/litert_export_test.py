import subprocess
import sys
import zipfile
from pathlib import Path

import keras
import numpy as np
import pytest
import tokenizers

import kerasbert
from kerasbert import export
from kerasbert.export import LiteRTClassifier, litert_conversion

TEXTS = ["wake me at half past six", "play music downstairs", "", "lights off please"]
PAIRS = {"text": ["play music", "wake me"], "text_pair": ["in the kitchen", "this weekend"]}


def softmax(logits):
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


@pytest.fixture(scope="module")
def several_labels(make_task):
    """No segments, several labels at a time, bfloat16: what BERT's files do not cover."""
    return make_task(family="distilbert", multi_label=True, dtype="mixed_bfloat16")


@pytest.fixture(scope="module")
def several_labels_report(several_labels, tmp_path_factory):
    path = tmp_path_factory.mktemp("several_labels") / "any_length.tflite"
    return export.litert(several_labels, path, sequence_length=None)


@pytest.fixture
def no_process(monkeypatch):
    """The test fails if anything is converted."""
    monkeypatch.setattr(litert_conversion.subprocess, "run", lambda *_, **__: pytest.fail("ran"))


@pytest.fixture
def process_that_gives(monkeypatch):
    """Replaces the conversion by copies of the model in a finished file."""

    def replace(path):
        with zipfile.ZipFile(path) as archive:
            model = path.read_bytes()[: archive.infolist()[0].header_offset]

        def run(command, **options):
            for name in ("file_0.tflite", "file_1.tflite"):
                Path(command[-1], name).write_bytes(model)
            return subprocess.CompletedProcess(command, 0, "", "")

        monkeypatch.setattr(litert_conversion.subprocess, "run", run)

    return replace


@pytest.mark.parametrize("texts", [TEXTS, PAIRS], ids=["texts", "pairs"])
def test_float32_file_computes_the_tasks_probabilities(bert, bert_reports, texts):
    expected = softmax(bert.predict(texts, verbose=0))
    runner = LiteRTClassifier(bert_reports[None].path)
    received = runner.predict_on_batch(bert.preprocessor(texts))
    assert np.ptp(expected, axis=0).max() > 0.01  # far above the tolerance
    np.testing.assert_allclose(received, expected, atol=1e-5)


def test_report_describes_the_file(bert_reports):
    report = bert_reports["dynamic_int8"]
    assert report.bytes == report.path.stat().st_size
    assert (report.sequence_length, report.output) == (32, "probabilities")
    assert 0 < report.max_difference < 0.2
    assert report.agreement >= 0.7
    assert report.operators["FULLY_CONNECTED"] >= 12
    assert str(report).startswith("dynamic_int8.tflite: 0.0")
    assert "dynamic_int8, 32 tokens" in str(report)


def test_float32_is_exact_to_rounding(bert_reports):
    assert bert_reports[None].max_difference < 1e-5
    assert bert_reports[None].agreement == 1.0


def test_quantized_files_are_smaller(bert_reports):
    weights = {key: report.bytes for key, report in bert_reports.items()}
    assert weights["dynamic_int8"] < weights["float16"] < weights[None]


def test_operators_are_built_in(bert_reports, several_labels_report):
    for report in (*bert_reports.values(), several_labels_report):
        assert not [name for name in report.operators if "CUSTOM" in name or "Flex" in name]


def test_tensors_have_kerasberts_names(bert_reports):
    from ai_edge_litert.interpreter import Interpreter

    for report in bert_reports.values():
        interpreter = Interpreter(str(report.path))
        inputs = {detail["name"]: detail for detail in interpreter.get_input_details()}
        assert set(inputs) == {"token_ids", "segment_ids", "padding_mask"}
        assert {tuple(d["shape"]) for d in inputs.values()} == {(1, 32)}
        assert {d["dtype"] for d in inputs.values()} == {np.int32}
        (output,) = interpreter.get_output_details()
        assert output["name"] == "probabilities"


def test_vocabulary_and_labels_are_inside(bert, bert_reports):
    files = export.read_associated_files(bert_reports["dynamic_int8"].path)
    assert files["labels.txt"] == "alarm\nmusic\nlights\n"
    assert files["vocab.txt"].splitlines() == bert.preprocessor.tokenizer.get_vocabulary()


@pytest.mark.parametrize("quantization", [None, "float16", "dynamic_int8"])
def test_mediapipe_gives_the_scores_of_the_file(bert, bert_reports, quantization):
    from mediapipe.tasks.python import BaseOptions, text

    report = bert_reports[quantization]
    options = text.TextClassifierOptions(BaseOptions(model_asset_path=str(report.path)))
    expected = LiteRTClassifier(report.path).predict_on_batch(bert.preprocessor(TEXTS))
    with text.TextClassifier.create_from_options(options) as classifier:
        for row, sentence in zip(expected, TEXTS, strict=True):
            (result,) = classifier.classify(sentence).classifications
            scores = {category.category_name: category.score for category in result.categories}
            wanted = dict(zip(["alarm", "music", "lights"], row, strict=True))
            assert scores == pytest.approx(wanted, abs=1e-5)


def test_mediapipe_agrees_with_classify(bert, bert_reports):
    from mediapipe.tasks.python import BaseOptions, text

    options = text.TextClassifierOptions(BaseOptions(model_asset_path=str(bert_reports[None].path)))
    with text.TextClassifier.create_from_options(options) as classifier:
        for sentence, expected in zip(TEXTS, bert.classify(TEXTS), strict=True):
            (result,) = classifier.classify(sentence).classifications
            scores = {category.category_name: category.score for category in result.categories}
            wanted = {entry["label"]: entry["score"] for entry in expected}
            assert scores == pytest.approx(wanted, abs=1e-3)


def test_file_of_any_length_computes_sigmoids_of_the_float32_model(
    several_labels, several_labels_report
):
    runner = LiteRTClassifier(several_labels_report.path)
    assert runner.sequence_length is None
    assert several_labels_report.max_difference < 1e-5
    tokens = several_labels.preprocessor(["play some loud music in the kitchen"])
    real = int(tokens["padding_mask"].sum())
    outputs = [
        runner.predict_on_batch({name: array[:, :width] for name, array in padded.items()})
        for width in (real, real + 1, 50)
        for padded in [{k: np.pad(v, ((0, 0), (0, 50))) for k, v in tokens.items()}]
    ]
    for output in outputs:
        np.testing.assert_allclose(output, outputs[0], atol=1e-6)
    # The task itself computes in bfloat16, which has 8 bits of precision.
    logits = several_labels.predict(["play some loud music in the kitchen"], verbose=0)
    np.testing.assert_allclose(outputs[0], 1 / (1 + np.exp(-logits)), atol=0.05)


def test_export_leaves_the_task_as_it_was(bert, bert_reports):
    assert bert.preprocessor.sequence_length == 64
    assert keras.config.dtype_policy().name == "float32"


def test_file_that_computes_something_else_is_refused(
    make_task, bert_reports, process_that_gives, tmp_path
):
    process_that_gives(bert_reports[None].path)
    with pytest.raises(ValueError, match=r"does not compute.*largest difference of \d"):
        export.litert(make_task(seed=5), tmp_path / "other.tflite", sequence_length=32)
    assert list(tmp_path.iterdir()) == []


def test_one_refused_file_leaves_none(bert, bert_reports, process_that_gives, tmp_path):
    process_that_gives(bert_reports["float16"].path)
    files = {tmp_path / "float16.tflite": "float16", tmp_path / "float32.tflite": None}
    with pytest.raises(ValueError, match=r"float32\.tflite"):
        export.litert_variants(bert, files, sequence_length=32)
    assert list(tmp_path.iterdir()) == []


def test_refused_file_keeps_an_older_one(make_task, bert_reports, process_that_gives, tmp_path):
    process_that_gives(bert_reports[None].path)
    older = tmp_path / "model.tflite"
    older.write_text("older")
    with pytest.raises(ValueError, match="does not compute"):
        export.litert(make_task(seed=5), older, sequence_length=32)
    assert older.read_text() == "older"


def test_foreign_operators_are_refused(
    bert, bert_reports, process_that_gives, monkeypatch, tmp_path
):
    process_that_gives(bert_reports[None].path)
    counts = {"ADD": 1, "CUSTOM:FlexErf": 2}
    monkeypatch.setattr(litert_conversion, "count_operators", lambda model: counts)
    with pytest.raises(ValueError, match="CUSTOM:FlexErf"):
        export.litert(bert, tmp_path / "flex.tflite", sequence_length=32)
    assert list(tmp_path.iterdir()) == []


def test_what_the_converter_said_is_shown(bert, monkeypatch, tmp_path):
    def fail(command, **options):
        return subprocess.CompletedProcess(command, 1, "", "Traceback ...\nConverterError: no Erf")

    monkeypatch.setattr(litert_conversion.subprocess, "run", fail)
    with pytest.raises(RuntimeError, match="ConverterError: no Erf"):
        export.litert(bert, tmp_path / "failed.tflite", sequence_length=32)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantization": "int4"}, "None, 'float16', 'dynamic_int8'.*quantization='int4'"),
        ({"sequence_length": 65}, "64 .*sequence_length=65"),
        ({"sequence_length": 3}, "sequence_length=3"),
    ],
)
def test_bad_options_are_named(bert, tmp_path, options, message):
    with pytest.raises(ValueError, match=message):
        export.litert(bert, tmp_path / "model.tflite", **{"sequence_length": 32, **options})


def test_regression_gives_its_value(make_task, tmp_path):
    task = make_task(labels=None, num_classes=1)
    report = export.litert(task, tmp_path / "stars.tflite", sequence_length=24)
    runner = LiteRTClassifier(report.path)
    assert (report.output, runner.output_name, report.agreement) == ("logits", "logits", None)
    assert runner.labels is None
    received = runner.predict_on_batch(task.preprocessor(TEXTS))
    np.testing.assert_allclose(received, task.predict(TEXTS, verbose=0), atol=1e-5)


def test_classes_without_names_are_labelled_by_number(
    make_task, bert_reports, process_that_gives, tmp_path
):
    process_that_gives(bert_reports[None].path)
    task = make_task(labels=None, num_classes=3)  # the same seed: the same weights
    report = export.litert(task, tmp_path / "numbers.tflite", sequence_length=32)
    assert LiteRTClassifier(report.path).labels == ("0", "1", "2")


def test_other_tokenizers_are_packed_whole(bert, bert_reports, process_that_gives, tmp_path):
    process_that_gives(bert_reports[None].path)
    rust = tokenizers.Tokenizer.from_str(bert.preprocessor.tokenizer.rust.to_str())
    rust.model = tokenizers.models.WordLevel(rust.get_vocab(), unk_token="[UNK]")
    preprocessor = kerasbert.TextClassifierPreprocessor(kerasbert.Tokenizer(rust), 64)
    task = kerasbert.TextClassifier(
        bert.backbone, labels=["alarm", "music", "lights"], preprocessor=preprocessor
    )
    task.head.set_weights(bert.head.get_weights())
    report = export.litert(task, tmp_path / "words.tflite", sequence_length=32)
    files = export.read_associated_files(report.path)
    assert set(files) == {"tokenizer.json", "labels.txt"}
    again = tokenizers.Tokenizer.from_str(files["tokenizer.json"])
    assert again.encode("wake me").ids == preprocessor.tokenizer.encode("wake me").ids


@pytest.mark.usefixtures("no_process")
def test_regression_has_no_probabilities(make_task, tmp_path):
    task = make_task(labels=None, num_classes=1)
    with pytest.raises(ValueError, match="regression"):
        export.litert(task, tmp_path / "model.tflite", sequence_length=32, probabilities=True)


@pytest.mark.usefixtures("no_process")
def test_what_is_no_task_is_refused(bert, tmp_path):
    with pytest.raises(TypeError, match=r"TextClassifier.*Encoder"):
        export.litert(bert.backbone, tmp_path / "model.tflite")


@pytest.mark.usefixtures("no_process")
def test_task_without_preprocessor_is_refused(bert, tmp_path):
    task = kerasbert.TextClassifier(bert.backbone, num_classes=2)
    with pytest.raises(ValueError, match="preprocessor=None"):
        export.litert(task, tmp_path / "model.tflite")


@pytest.mark.usefixtures("no_process")
def test_unwritable_target_is_said_before_the_work(bert, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(OSError, match="file"):
        export.litert(bert, tmp_path / "file" / "model.tflite", sequence_length=32)


@pytest.mark.usefixtures("no_process")
@pytest.mark.parametrize("package", ["tensorflow", "ai_edge_litert", "flatbuffers"])
def test_missing_package_is_named_with_the_remedy(bert, tmp_path, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"`{package}`.*pip install kerasbert\[export\]"):
        export.litert(bert, tmp_path / "model.tflite", sequence_length=32)


@pytest.mark.usefixtures("no_process")
def test_labels_with_line_breaks_are_refused_with_metadata(make_task, tmp_path):
    task = make_task(labels=["a\nb", "c"])
    with pytest.raises(ValueError, match="line break"):
        export.litert(task, tmp_path / "model.tflite", sequence_length=32)
