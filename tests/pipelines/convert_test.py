"""Checkpoints from one format to another, and what is left where a conversion fails."""

import os
import types

import keras
import numpy as np
import pytest
import torch
import transformers
from keras import ops
from safetensors.numpy import load_file, save_file

from kerasbert import (
    Encoder,
    EncoderConfig,
    TextClassifier,
    TextClassifierPreprocessor,
    Tokenizer,
)
from kerasbert.pipelines import convert as pipeline
from kerasbert.pipelines import convert_checkpoint

CONFIG = EncoderConfig(
    vocabulary_size=60,
    num_layers=2,
    num_heads=2,
    hidden_dim=12,
    intermediate_dim=20,
    max_sequence_length=24,
)
TEXTS = ["wake me at seven", "play some jazz", "will it rain today?"]


@pytest.fixture
def tokenizer():
    return Tokenizer.train(TEXTS, vocabulary_size=60)


@pytest.fixture
def classifier(tokenizer):
    model = TextClassifier(
        Encoder(CONFIG, family="bert"),
        labels=["alarm", "music", "weather"],
        preprocessor=TextClassifierPreprocessor(tokenizer, sequence_length=24),
    )
    draw = np.random.default_rng(5)
    for variable in model.trainable_variables:
        values = draw.normal(0, 0.3, variable.shape) + ("gamma" in variable.path)
        variable.assign(values.astype("float32"))
    return model


@pytest.fixture
def ours(classifier, tmp_path):
    folder = tmp_path / "ours"
    classifier.save_to_preset(folder)
    return folder


def quietly(line):
    pass


def convert(source, target, to, **options):
    return convert_checkpoint(source, target, to, say=quietly, **options)


def test_a_task_goes_to_transformers_and_back(ours, classifier, tmp_path):
    theirs, again = tmp_path / "theirs", tmp_path / "again"
    there = convert(ours, theirs, "transformers")
    back = convert(theirs, again, "kerasbert")
    assert (there.model, back.model) == ("TextClassifier", "TextClassifier")
    assert max(there.max_difference, back.max_difference) <= 1e-4
    found = TextClassifier.from_preset(again)
    assert found.labels == ["alarm", "music", "weather"]
    np.testing.assert_allclose(
        found.predict(TEXTS, verbose=0), classifier.predict(TEXTS, verbose=0), atol=1e-5
    )


def test_transformers_reads_what_was_written_with_its_tokenizer(ours, classifier, tmp_path):
    convert(ours, tmp_path / "theirs", "transformers")
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "theirs")
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    with torch.no_grad():
        expected = model.eval()(**reader(TEXTS, padding=True, return_tensors="pt")).logits
    np.testing.assert_allclose(classifier.predict(TEXTS, verbose=0), expected.numpy(), atol=1e-4)


def test_an_encoder_of_transformers_brings_its_tokenizer(tokenizer, tmp_path):
    config = transformers.BertConfig(
        vocab_size=60, hidden_size=12, num_attention_heads=2, num_hidden_layers=1,
        intermediate_size=20, max_position_embeddings=24,
    )  # fmt: skip
    theirs, ours, again = (tmp_path / name for name in ("theirs", "ours", "again"))
    model = transformers.BertModel(config).eval()
    model.save_pretrained(theirs)
    tokenizer.save(theirs)
    convert(theirs, ours, "kerasbert")
    convert(ours, again, "transformers")
    assert Tokenizer.from_preset(ours).encode(TEXTS[0]) == tokenizer.encode(TEXTS[0])
    reader = transformers.AutoTokenizer.from_pretrained(again)
    found = transformers.AutoModel.from_pretrained(again).eval()
    inputs = reader(TEXTS, padding=True, return_tensors="pt")
    with torch.no_grad():
        torch.testing.assert_close(
            found(**inputs).last_hidden_state, model(**inputs).last_hidden_state
        )


@pytest.mark.parametrize(
    ("architecture", "model"),
    [
        ("BertForMaskedLM", "MaskedLM"),
        ("BertForPreTraining", "PretrainingModel"),
        ("BertForTokenClassification", "TokenClassifier"),
        ("BertForQuestionAnswering", "QuestionAnswerer"),
        ("BertForMultipleChoice", "MultipleChoice"),
        ("ElectraForPreTraining", "ReplacedTokenDetector"),
    ],
)
def test_every_head_goes_there_and_back_with_the_tokenizer(
    architecture, model, tokenizer, tmp_path
):
    cls = getattr(transformers, architecture)
    theirs, ours, again = (tmp_path / name for name in ("theirs", "ours", "again"))
    config = cls.config_class(
        vocab_size=60, hidden_size=12, num_attention_heads=2, num_hidden_layers=1,
        intermediate_size=20, max_position_embeddings=24,
    )  # fmt: skip
    cls(config).save_pretrained(theirs)
    tokenizer.save(theirs)
    assert convert(theirs, ours, "kerasbert").model == model
    assert convert(ours, again, "transformers").model == model
    _, report = cls.from_pretrained(again, output_loading_info=True)
    assert not any(report.values()), report
    assert Tokenizer.from_preset(again).same_vocabulary(tokenizer)


def test_an_encoder_without_a_tokenizer_is_converted_too(tmp_path):
    Encoder(CONFIG, family="bert").save_to_preset(tmp_path / "ours")
    assert convert(tmp_path / "ours", tmp_path / "theirs", "transformers").model == "Encoder"
    assert not Tokenizer.exists_in(tmp_path / "theirs")


def test_progress_names_the_steps_the_model_and_the_size(ours, tmp_path):
    lines = []
    convert_checkpoint(ours, tmp_path / "theirs", "transformers", say=lines.append)
    text = "\n".join(lines)
    for part in (
        f"read {ours}: finished after",
        "TextClassifier of family bert, 2 layers x 12",
        "3 labels",
        "write for transformers: finished after",
        " MB in ",
        "outputs agree within",
        f"Everything is in {tmp_path / 'theirs'}",
    ):
        assert part in text


def test_an_empty_target_is_filled(ours, tmp_path):
    (tmp_path / "theirs").mkdir()
    convert(ours, tmp_path / "theirs", "transformers")
    assert (tmp_path / "theirs" / "model.safetensors").is_file()


def test_a_target_that_holds_something_is_left_alone(ours, tmp_path):
    target = tmp_path / "theirs"
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    for taken in (target, target / "notes.txt"):
        with pytest.raises(ValueError, match=r"nothing is overwritten.*theirs"):
            convert(ours, taken, "transformers")
    assert os.listdir(target) == ["notes.txt"]


def test_a_family_is_for_transformers_only(ours, tmp_path):
    with pytest.raises(ValueError, match=r"Leave it out.*family='bert'"):
        convert(ours, tmp_path / "target", "kerasbert", family="bert")


def test_an_unknown_format_lists_the_known_ones(ours, tmp_path):
    with pytest.raises(ValueError, match=r"kerasbert.*transformers.*onnx"):
        convert(ours, tmp_path / "target", "onnx")


# Whatever fails, and wherever: nothing is left.


def entries(folder):
    return sorted(os.listdir(folder))


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
@pytest.mark.parametrize("place", ["_check_same", "_megabytes"])
def test_a_failure_half_way_leaves_nothing(ours, tmp_path, monkeypatch, error, place):
    def fail(*_):
        raise error

    monkeypatch.setattr(pipeline, place, fail)
    before = entries(tmp_path)
    with pytest.raises(type(error)):
        convert(ours, tmp_path / "theirs", "transformers")
    assert entries(tmp_path) == before


def test_outputs_that_differ_are_said_with_the_difference(ours, tmp_path, monkeypatch):
    write = pipeline._WRITERS["transformers"]

    def damage(model, tokenizer, folder, *rest):
        write(model, tokenizer, folder, *rest)
        tensors = load_file(folder / "model.safetensors")
        tensors["classifier.bias"] += 0.5
        save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})

    monkeypatch.setitem(pipeline._WRITERS, "transformers", damage)
    before = entries(tmp_path)
    with pytest.raises(ValueError, match=r"nothing was kept.*0\.5, tolerance 0\.0001"):
        convert(ours, tmp_path / "theirs", "transformers")
    assert entries(tmp_path) == before


def test_nan_is_no_agreement(ours, classifier, tmp_path):
    classifier.head.dense_output.bias.assign([np.nan, 0, 0])
    classifier.save_to_preset(ours)
    with pytest.raises(ValueError, match="nan"):
        convert(ours, tmp_path / "theirs", "transformers")


def test_what_the_format_cannot_say_is_an_error(tmp_path):
    config = CONFIG.replace(norm_placement="pre")
    Encoder(config, family="bert").save_to_preset(tmp_path / "ours")
    with pytest.raises(ValueError, match="cannot represent"):
        convert(tmp_path / "ours", tmp_path / "theirs", "transformers")
    assert entries(tmp_path) == ["ours"]


def test_only_real_positions_are_compared():
    mask = np.array([[1, 1, 0], [1, 0, 0]])
    states = np.zeros((2, 3, 4), "float32")
    other = states.copy()
    other[mask == 0] = 7
    assert pipeline._largest_difference({"a": states}, {"a": other}, mask) == 0
    other[1, 0, 2] = 0.25
    pair = (ops.convert_to_tensor(states), ops.convert_to_tensor(other))
    assert pipeline._largest_difference(*pair, mask) == 0.25


def test_the_batch_has_the_shape_of_the_models_inputs():
    names = ("token_ids", "segment_ids", "padding_mask")
    inputs = {name: keras.KerasTensor((None, None, None), name=name) for name in names}
    with_choices = types.SimpleNamespace(input=inputs, backbone=Encoder(CONFIG))
    batch = pipeline._random_batch(with_choices, with_choices)
    assert {array.shape for array in batch.values()} == {(4, 2, 16)}
    assert batch["padding_mask"].sum(axis=-1).tolist() == [[16] * 2, [11] * 2, [5] * 2, [1] * 2]
    assert batch["segment_ids"].max() == 1
    assert batch["token_ids"].max() < 60
