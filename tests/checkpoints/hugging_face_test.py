"""Hugging Face folders as they are found: old names, prefixes, shards, and what can be wrong."""

import json
import warnings

import keras
import numpy as np
import pytest
import torch
import transformers
from safetensors.numpy import load_file, save_file

from kerasbert import Encoder, TextClassifier
from kerasbert.checkpoints.errors import CheckpointError

CONFIG = {
    "vocab_size": 23,
    "hidden_size": 8,
    "num_attention_heads": 2,
    "num_hidden_layers": 2,
    "intermediate_size": 12,
    "max_position_embeddings": 10,
}


def config_of(cls, **changes):
    """A small configuration of one of the three families."""
    values = dict(CONFIG)
    if cls is transformers.DistilBertConfig:
        values["hidden_dim"] = values.pop("intermediate_size")
    return cls(**{**values, **changes})


def make(cls, config_cls=transformers.BertConfig, **changes):
    model = cls(config_of(config_cls, **changes))
    generator = torch.Generator().manual_seed(5)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0.0, 0.5, generator=generator)
    return model


@pytest.fixture
def folder(tmp_path):
    """A bare encoder, as transformers writes it."""
    make(transformers.BertModel).save_pretrained(tmp_path)
    return tmp_path


@pytest.fixture
def classifier_folder(tmp_path):
    """A classifier of three classes, as transformers writes it."""
    make(transformers.BertForSequenceClassification, num_labels=3).save_pretrained(tmp_path)
    return tmp_path


def rewrite(folder, change):
    """Replace the tensors of a folder by what `change` makes of them."""
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def reconfigure(folder, **changes):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def weights_of(model):
    return [keras.ops.convert_to_numpy(variable) for variable in model.weights]


def load_quietly(folder):
    """Load an encoder and fail on any warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=UserWarning)
        return Encoder.from_preset(folder)


def assert_same_weights(found, expected, tolerance=0.0):
    for one, other in zip(weights_of(found), weights_of(expected), strict=True):
        np.testing.assert_allclose(one, other, atol=tolerance, rtol=tolerance)


def test_a_folder_of_transformers_loads_without_a_warning(folder):
    load_quietly(folder)


def old_names(tensors):
    return {
        key.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): value
        for key, value in tensors.items()
    }


def with_position_ids(tensors):
    return {**tensors, "embeddings.position_ids": np.arange(10)[None]}


def with_prefix(tensors):
    return {f"bert.{key}": value for key, value in tensors.items()}


def everything_at_once(tensors):
    return with_prefix(with_position_ids(old_names(tensors)))


@pytest.mark.parametrize("change", [old_names, with_position_ids, with_prefix, everything_at_once])
def test_old_spellings_of_the_keys_mean_the_same_weights(folder, change):
    expected = Encoder.from_preset(folder)
    rewrite(folder, change)
    assert_same_weights(load_quietly(folder), expected)


@pytest.mark.parametrize(("dtype", "bits"), [("float16", 11), ("bfloat16", 8)])
def test_half_precision_files_are_widened(tmp_path, dtype, bits):
    exact, half = tmp_path / "exact", tmp_path / "half"
    make(transformers.BertModel).save_pretrained(exact)
    make(transformers.BertModel).to(getattr(torch, dtype)).save_pretrained(half)
    found = load_quietly(half)
    assert {variable.dtype for variable in found.weights} == {"float32"}
    assert_same_weights(found, Encoder.from_preset(exact), tolerance=2.0**-bits)


def test_shards_are_read(tmp_path):
    one, many = tmp_path / "one", tmp_path / "many"
    make(transformers.BertModel).save_pretrained(one)
    make(transformers.BertModel).save_pretrained(many, max_shard_size=1500)
    assert len(list(many.glob("model-*.safetensors"))) > 1
    assert_same_weights(load_quietly(many), Encoder.from_preset(one))


def test_bin_files_are_read(folder):
    expected = Encoder.from_preset(folder)
    tensors = {
        key: torch.tensor(value) for key, value in load_file(folder / "model.safetensors").items()
    }
    torch.save(tensors, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert_same_weights(load_quietly(folder), expected)


def test_a_masked_language_model_gives_an_encoder_without_pooler_and_names_what_is_left(tmp_path):
    make(transformers.BertForMaskedLM).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match=r"not loaded: cls\.predictions") as caught:
        encoder = Encoder.from_preset(tmp_path)
    assert encoder.config.pooler is None
    assert len(caught) == 1


def test_a_pretraining_model_gives_an_encoder_with_pooler(tmp_path):
    make(transformers.BertForPreTraining).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="not loaded"):
        encoder = Encoder.from_preset(tmp_path)
    assert encoder.config.pooler == "tanh"


def test_the_warning_of_unused_weights_points_to_the_users_line(tmp_path):
    make(transformers.BertForMaskedLM).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="not loaded") as caught:
        Encoder.from_preset(tmp_path)
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("cls", "config_cls"),
    [
        (transformers.DistilBertForMaskedLM, transformers.DistilBertConfig),
        (transformers.AlbertForMaskedLM, transformers.AlbertConfig),
        (transformers.BertForQuestionAnswering, transformers.BertConfig),
    ],
)
def test_other_task_models_give_encoders(cls, config_cls, tmp_path):
    theirs = make(cls, config_cls)
    theirs.save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="not loaded"):
        encoder = Encoder.from_preset(tmp_path)
    table = theirs.get_input_embeddings().weight.detach().numpy()
    np.testing.assert_array_equal(weights_of(encoder.get_layer("embeddings"))[0], table)


def test_an_encoder_gets_a_new_head(folder):
    classifier = TextClassifier.from_preset(folder, num_classes=5)
    assert classifier.num_classes == 5
    assert_same_weights(classifier.backbone, Encoder.from_preset(folder))
    assert np.std(keras.ops.convert_to_numpy(classifier.head.dense_output.kernel)) > 0


def test_an_encoder_without_classes_asks_for_them(folder):
    with pytest.raises(ValueError, match="`num_classes` and `labels`"):
        TextClassifier.from_preset(folder)


def test_labels_may_be_numbered_by_strings_in_any_order(classifier_folder):
    reconfigure(classifier_folder, id2label={"2": "c", "0": "a", "1": "b"})
    assert TextClassifier.from_preset(classifier_folder).labels == ["a", "b", "c"]


def test_labels_with_a_gap_are_refused(classifier_folder):
    reconfigure(classifier_folder, id2label={"0": "a", "2": "b", "3": "c"})
    with pytest.raises(CheckpointError, match="id2label"):
        TextClassifier.from_preset(classifier_folder)


def test_without_weights_the_architecture_alone_is_built(folder):
    (folder / "model.safetensors").unlink()
    encoder = Encoder.from_preset(folder, load_weights=False)
    assert encoder.config.hidden_dim == 8


# What a checkpoint can have wrong, and what its error must name.


def test_a_truncated_file_is_named(folder):
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"(?s)model\.safetensors") as error:
        Encoder.from_preset(folder)
    assert "cut short" in str(error.value)


def test_a_wrong_shape_names_the_file_the_key_and_both_shapes(folder):
    key = "encoder.layer.1.output.dense.weight"
    rewrite(folder, lambda tensors: {**tensors, key: np.zeros((8, 13), "float32")})
    with pytest.raises(CheckpointError) as error:
        Encoder.from_preset(folder)
    for part in ("model.safetensors", key, "(8, 13)", "(8, 12)"):
        assert part in str(error.value)


def test_a_missing_key_is_named_with_the_file(folder):
    key = "encoder.layer.0.attention.self.key.bias"
    rewrite(folder, lambda tensors: {k: v for k, v in tensors.items() if k != key})
    with pytest.raises(CheckpointError) as error:
        Encoder.from_preset(folder)
    for part in (str(folder), key, "(8,)"):
        assert part in str(error.value)


def test_half_a_pooler_is_an_error(folder):
    rewrite(folder, lambda t: {k: v for k, v in t.items() if k != "pooler.dense.bias"})
    with pytest.raises(CheckpointError, match=r"pooler\.dense\.bias"):
        Encoder.from_preset(folder)


def test_a_configuration_with_more_layers_than_the_file_is_an_error(folder):
    reconfigure(folder, num_hidden_layers=3)
    with pytest.raises(CheckpointError, match=r"encoder\.layer\.2"):
        Encoder.from_preset(folder)


def test_a_configuration_with_fewer_layers_reports_the_rest(folder):
    reconfigure(folder, num_hidden_layers=1)
    with pytest.warns(UserWarning, match=r"encoder\.layer\.1"):
        Encoder.from_preset(folder)


def test_a_folder_without_weights_says_so(folder):
    (folder / "model.safetensors").unlink()
    with pytest.raises(CheckpointError, match="no weights"):
        Encoder.from_preset(folder)


def test_an_unknown_model_type_lists_the_supported_ones(folder):
    reconfigure(folder, model_type="gpt2")
    with pytest.raises(ValueError, match=r"albert.*bert.*distilbert.*gpt2"):
        Encoder.from_preset(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"hidden_act": "mish"},
        {"position_embedding_type": "relative_key"},
        {"add_cross_attention": True},
        {"rope_theta": 10000.0},
        {"hidden_size": 9},
        {"num_hidden_layers": "two"},
        {"layer_norm_eps": "small"},
    ],
)
def test_what_a_configuration_says_and_is_not_understood_is_an_error(folder, change):
    reconfigure(folder, **change)
    (name,) = change
    ours = {"hidden_size": "hidden_dim", "num_hidden_layers": "num_layers"}
    ours["layer_norm_eps"] = "norm_epsilon"
    with pytest.raises(ValueError, match=r"config\.json") as error:
        Encoder.from_preset(folder)
    assert ours.get(name, name) in str(error.value)


@pytest.mark.parametrize("config_cls", ["BertConfig", "DistilBertConfig", "AlbertConfig"])
@pytest.mark.parametrize(
    "change",
    [
        {"is_decoder": False},
        {"add_cross_attention": False},
        {"pruned_heads": {}},
        {"output_hidden_states": True, "return_dict": False, "torch_dtype": "float16"},
        {"position_embedding_type": "absolute"},
        {"rope_scaling": None},
        {"finetuning_task": "mnli"},
    ],
)
def test_fields_that_change_nothing_are_accepted(config_cls, change, tmp_path):
    config_of(getattr(transformers, config_cls)).save_pretrained(tmp_path)
    reconfigure(tmp_path, **change)
    assert Encoder.from_preset(tmp_path, load_weights=False).config.vocabulary_size == 23


@pytest.mark.parametrize("config_cls", ["DistilBertConfig", "AlbertConfig"])
def test_a_decoder_that_cannot_be_built_is_refused(config_cls, tmp_path):
    config_of(getattr(transformers, config_cls)).save_pretrained(tmp_path)
    reconfigure(tmp_path, is_decoder=True)
    with pytest.raises(ValueError, match="is_decoder"):
        Encoder.from_preset(tmp_path, load_weights=False)


@pytest.mark.parametrize(
    ("config_cls", "model_cls"),
    [
        ("BertConfig", "BertModel"),
        ("DistilBertConfig", "DistilBertModel"),
        ("AlbertConfig", "AlbertModel"),
    ],
)
def test_a_configuration_that_gives_nothing_means_what_transformers_takes_it_for(
    config_cls, model_cls
):
    from kerasbert.families import get_family

    theirs = getattr(transformers, config_cls)()
    family = get_family(theirs.model_type)
    full = {key: value for key, value in theirs.to_dict().items() if value is not None}
    assert family.read_config({}, "config.json") == family.read_config(full, "config.json")


def test_an_export_that_fails_leaves_nothing_behind(folder, tmp_path, monkeypatch):
    encoder = Encoder.from_preset(folder)
    target = tmp_path / "exported"

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr("kerasbert.checkpoints.hugging_face.write_safetensors", fail)
    with pytest.raises(OSError, match="disk full"):
        encoder.export_to_transformers(target)
    assert not target.exists()
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.startswith(".")] == []


def test_an_export_over_a_sharded_folder_is_what_is_read_next(tmp_path):
    make(transformers.BertModel).save_pretrained(tmp_path, max_shard_size=1500)
    encoder = Encoder.from_preset(tmp_path)
    encoder.weights[0].assign(encoder.weights[0] * 0 + 2)
    encoder.export_to_transformers(tmp_path)
    assert_same_weights(Encoder.from_preset(tmp_path), encoder)
