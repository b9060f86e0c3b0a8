"""kerasbert's own folders: what is written is read back, as a whole or not at all."""

import json

import keras
import numpy as np
import pytest

from kerasbert import (
    Absolute,
    Encoder,
    EncoderConfig,
    Sharing,
    TextClassifier,
    TextClassifierPreprocessor,
    Tokenizer,
)
from kerasbert.checkpoints import presets
from kerasbert.checkpoints.errors import CheckpointError

CONFIG = EncoderConfig(
    vocabulary_size=60,
    num_layers=1,
    num_heads=2,
    hidden_dim=8,
    intermediate_dim=12,
    max_sequence_length=20,
)
TEXTS = ["wake me at seven", "play some jazz"]
BATCH = {
    "token_ids": np.arange(2, 10, dtype="int32").reshape(2, 4),
    "segment_ids": np.zeros((2, 4), "int32"),
    "padding_mask": np.ones((2, 4), "int32"),
}


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS, vocabulary_size=60)


@pytest.fixture
def classifier(tokenizer):
    preprocessor = TextClassifierPreprocessor(tokenizer, sequence_length=20, buckets=(8, 16))
    return TextClassifier(
        Encoder(CONFIG, family="distilbert"),
        labels=["alarm", "música"],
        preprocessor=preprocessor,
        multi_label=True,
        pooling="mean",
        dropout=0.4,
    )


def contents(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        CONFIG.replace(num_segments=0, pooler=None, norm_placement="pre", activation="silu"),
        CONFIG.replace(
            num_layers=2,
            embedding_dim=4,
            sharing=Sharing(1, 2),
            position=Absolute(offset=2, counting="non_padding"),
            gated_feed_forward=True,
            use_bias=False,
            causal=True,
        ),
    ],
)
def test_an_encoder_is_read_back(config, tmp_path):
    encoder = Encoder(config, family="albert", name="mine")
    encoder.save_to_preset(tmp_path)
    again = Encoder.from_preset(tmp_path)
    assert (again.config, again.family, again.name) == (config, "albert", "mine")
    for one, other in zip(again.weights, encoder.weights, strict=True):
        assert one.path == other.path
        np.testing.assert_array_equal(*map(keras.ops.convert_to_numpy, (one, other)))


def test_a_task_is_read_back_with_everything_that_it_was_given(classifier, tmp_path):
    classifier.save_to_preset(tmp_path)
    again = TextClassifier.from_preset(tmp_path)
    assert again.labels == ["alarm", "música"]
    assert again.multi_label
    assert again.pooling == "mean"
    assert again.head.dropout.rate == 0.4
    assert again.backbone.family == "distilbert"
    assert again.preprocessor.sequence_length == 20
    assert again.preprocessor.buckets == (8, 16, 20)
    found, expected = (model.predict(TEXTS, verbose=0) for model in (again, classifier))
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_encoder_of_a_task_is_read_alone(classifier, tmp_path):
    classifier.save_to_preset(tmp_path)
    encoder = Encoder.from_preset(tmp_path)
    np.testing.assert_array_equal(
        *(
            keras.ops.convert_to_numpy(model(BATCH)["sequence_output"])
            for model in (encoder, classifier.backbone)
        )
    )


def test_a_task_is_read_from_an_encoders_folder(tmp_path):
    Encoder(CONFIG).save_to_preset(tmp_path)
    assert TextClassifier.from_preset(tmp_path, num_classes=4).num_classes == 4


def test_a_folder_holds_what_the_design_names(classifier, tmp_path):
    classifier.save_to_preset(tmp_path)
    assert json.loads((tmp_path / "config.json").read_text())["registered_name"].startswith(
        "kerasbert>"
    )
    assert (tmp_path / "assets" / "tokenizer" / "tokenizer.json").is_file()


def test_other_classes_mean_a_new_head_with_a_warning(classifier, tmp_path):
    classifier.save_to_preset(tmp_path)
    with pytest.warns(UserWarning, match="head is new"):
        again = TextClassifier.from_preset(tmp_path, labels=["a", "b", "c"])
    assert again.labels == ["a", "b", "c"]
    assert again.preprocessor is not None


def test_the_same_number_of_classes_keeps_head_and_names(classifier, tmp_path, recwarn):
    classifier.save_to_preset(tmp_path)
    again = TextClassifier.from_preset(tmp_path, num_classes=2)
    assert again.labels == ["alarm", "música"]
    assert not [warning for warning in recwarn if "head" in str(warning.message)]
    np.testing.assert_array_equal(
        *(keras.ops.convert_to_numpy(m.head.dense_output.kernel) for m in (again, classifier))
    )


@pytest.mark.parametrize("dtype", ["bfloat16", "mixed_float16"])
def test_the_dtype_is_kept_and_may_be_chosen_anew(dtype, tmp_path):
    Encoder(CONFIG, dtype=dtype).save_to_preset(tmp_path)
    assert Encoder.from_preset(tmp_path).dtype_policy.name == dtype
    again = Encoder.from_preset(tmp_path, dtype="float32")
    assert again.dtype_policy.name == "float32"
    assert {variable.dtype for variable in again.weights} == {"float32"}


def test_a_task_over_an_older_one_leaves_nothing_of_it(classifier, tmp_path):
    classifier.save_to_preset(tmp_path)
    TextClassifier(Encoder(CONFIG), num_classes=3).save_to_preset(tmp_path)
    again = TextClassifier.from_preset(tmp_path)
    assert again.preprocessor is None
    assert again.num_classes == 3


def test_an_encoder_over_an_older_task_is_no_task(classifier, tmp_path):
    classifier.save_to_preset(tmp_path)
    Encoder(CONFIG).save_to_preset(tmp_path)
    with pytest.raises(ValueError, match="`num_classes` and `labels`"):
        TextClassifier.from_preset(tmp_path)


@pytest.mark.parametrize("existing", [False, True])
def test_a_save_that_fails_leaves_the_folder_as_it_was(classifier, existing, tmp_path, monkeypatch):
    folder = tmp_path / "preset"
    if existing:
        classifier.save_to_preset(folder)
    before = contents(tmp_path)

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(type(classifier.preprocessor.tokenizer), "save_assets", fail)
    with pytest.raises(OSError, match="disk full"):
        classifier.save_to_preset(folder)
    assert contents(tmp_path) == before
    assert folder.exists() == existing


@pytest.mark.parametrize("name", ["model.weights.h5", "task.weights.h5"])
def test_a_truncated_weights_file_is_named(classifier, name, tmp_path):
    classifier.save_to_preset(tmp_path)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        TextClassifier.from_preset(tmp_path)


@pytest.mark.parametrize("name", ["model.weights.h5", "task.weights.h5"])
def test_a_missing_weights_file_is_named(classifier, name, tmp_path):
    classifier.save_to_preset(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(CheckpointError, match=name.replace(".", r"\.")):
        TextClassifier.from_preset(tmp_path)


def test_weights_of_another_shape_are_an_error_that_names_the_file(tmp_path):
    Encoder(CONFIG).save_to_preset(tmp_path)
    path = tmp_path / "config.json"
    text = path.read_text().replace('"hidden_dim": 8', '"hidden_dim": 16')
    path.write_text(text)
    with pytest.raises(CheckpointError, match=r"model\.weights\.h5"):
        Encoder.from_preset(tmp_path)


def test_a_class_that_is_not_known_here_says_so(tmp_path):
    Encoder(CONFIG).save_to_preset(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(path.read_text().replace("kerasbert>Encoder", "kerasbert>Decoder"))
    with pytest.raises(CheckpointError, match="kerasbert>Decoder"):
        Encoder.from_preset(tmp_path)


def test_an_object_of_another_class_is_refused(classifier, tmp_path):
    classifier.save_to_preset(tmp_path)
    with pytest.raises(CheckpointError, match="`TextClassifier`, not a `Encoder`"):
        presets.read_class(tmp_path, presets.TASK_FILE, Encoder)


def test_a_compiled_task_with_functions_of_ones_own_is_saved(classifier, tmp_path):
    classifier.compile(loss=lambda y, logits: keras.ops.mean(logits), optimizer="sgd")
    classifier.save_to_preset(tmp_path)
    assert TextClassifier.from_preset(tmp_path).num_classes == 2
