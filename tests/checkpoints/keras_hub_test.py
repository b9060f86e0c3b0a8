"""KerasHub's preset folders, written by KerasHub in the same test, and what can be wrong there."""

import json
import warnings

import h5py
import keras_hub
import numpy as np
import pytest
from keras import ops

from kerasbert import Encoder, MaskedLM, TextClassifier
from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.keras_hub import KerasHubFolder
from kerasbert.checkpoints.sources import resolve
from kerasbert.families.keras_hub import KERAS_HUB
from kerasbert.layers import activation

SIZES = {
    "vocabulary_size": 31,
    "num_layers": 2,
    "num_heads": 3,
    "hidden_dim": 12,
    "intermediate_dim": 20,
    "max_sequence_length": 16,
}
ELECTRA = {**SIZES, "vocab_size": 31}
del ELECTRA["vocabulary_size"]

# The class and its arguments, by what is unusual about it.
BACKBONES = {
    "BERT": ("BertBackbone", SIZES),
    "BERT with three segments and one layer": (
        "BertBackbone",
        {**SIZES, "num_segments": 3, "num_layers": 1},
    ),
    "DistilBERT": ("DistilBertBackbone", SIZES),
    "DistilBERT with one head": ("DistilBertBackbone", {**SIZES, "num_heads": 1}),
    "ALBERT": ("AlbertBackbone", {**SIZES, "embedding_dim": 5}),
    "ALBERT with two groups of two": (
        "AlbertBackbone",
        {
            **SIZES,
            "num_layers": 4,
            "embedding_dim": 5,
            "num_groups": 2,
            "num_inner_repetitions": 2,
        },
    ),
    "ALBERT with wide embeddings": ("AlbertBackbone", {**SIZES, "embedding_dim": 12}),
    "RoBERTa": ("RobertaBackbone", SIZES),
    "XLM-RoBERTa": ("XLMRobertaBackbone", SIZES),
    "ELECTRA": ("ElectraBackbone", {**ELECTRA, "embedding_dim": 5}),
    "DeBERTa v3": ("DebertaV3Backbone", {**SIZES, "bucket_size": 4}),
    "DeBERTa v3 with as many buckets as positions": (
        "DebertaV3Backbone",
        {**SIZES, "bucket_size": 16},
    ),
    "ELECTRA with wide embeddings": ("ElectraBackbone", {**ELECTRA, "embedding_dim": 12}),
}


def make(name, **changes):
    """A backbone of KerasHub whose parameters all differ."""
    class_name, arguments = BACKBONES[name]
    return randomized(getattr(keras_hub.models, class_name)(**{**arguments, **changes}))


def randomized(model):
    draw = np.random.default_rng(5)
    for variable in model.trainable_variables:
        values = draw.normal(0, 0.3, variable.shape) + ("gamma" in variable.path)
        variable.assign(values.astype("float32"))
    return model


@pytest.fixture
def folder(tmp_path):
    make("BERT").save_to_preset(tmp_path)
    return tmp_path


@pytest.fixture
def batch():
    """Padding on the right, on the left, in between, none; int32 (4, 9)."""
    mask = np.ones((4, 9), "int32")
    mask[0, 5:] = mask[1, :4] = mask[2, 3:5] = 0
    draw = np.random.default_rng(7)
    return {
        "token_ids": draw.integers(0, 31, (4, 9)).astype("int32"),
        "segment_ids": draw.integers(0, 2, (4, 9)).astype("int32"),
        "padding_mask": mask,
    }


def outputs_of(model, batch):
    """Both libraries' outputs as a dict of arrays."""
    names = model.input_names if isinstance(model, Encoder) else model.input.keys()
    outputs = model({name: batch[name] for name in names})
    outputs = outputs if isinstance(outputs, dict) else {"sequence_output": outputs}
    return {name: ops.convert_to_numpy(value) for name, value in outputs.items()}


def reconfigure(folder, **changes):
    path = folder / "config.json"
    data = json.loads(path.read_text())
    data["config"].update(changes)
    path.write_text(json.dumps(data))


@pytest.mark.parametrize("name", BACKBONES)
def test_outputs_are_those_of_keras_hub(name, batch, tmp_path):
    facts = KERAS_HUB[BACKBONES[name][0]]
    theirs = make(name)
    theirs.save_to_preset(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = Encoder.from_preset(tmp_path)

    expected, found = outputs_of(theirs, batch), outputs_of(ours, batch)

    assert ours.family == facts.family
    assert found.keys() == expected.keys()
    real = batch["padding_mask"].astype(bool)
    np.testing.assert_allclose(
        found["sequence_output"][real], expected["sequence_output"][real], atol=1e-4
    )
    if "pooled_output" in expected:
        rows = real[:, 0]
        np.testing.assert_allclose(
            found["pooled_output"][rows], expected["pooled_output"][rows], atol=1e-4
        )


@pytest.mark.parametrize("class_name", ["BertBackbone", "DistilBertBackbone"])
def test_the_gelu_is_the_one_that_keras_hub_computes(class_name):
    """The two differ by up to 5e-4: too little to be sure of by the outputs of a small model."""
    arguments = next(arguments for cls, arguments in BACKBONES.values() if cls == class_name)
    theirs = getattr(keras_hub.models, class_name)(**arguments)
    layer = theirs.get_layer("transformer_layer_0")
    x = ops.convert_to_tensor(np.linspace(-3, 3, 61, dtype="float32"))
    found = activation(KERAS_HUB[class_name].defaults.activation)(x)
    expected = layer._feedforward_intermediate_dense.activation(x)
    np.testing.assert_allclose(
        ops.convert_to_numpy(found), ops.convert_to_numpy(expected), atol=1e-6
    )


def test_dropout_is_that_of_states_and_attention_weights(tmp_path):
    make("BERT", dropout=0.25).save_to_preset(tmp_path)
    config = Encoder.from_preset(tmp_path).config
    assert (config.hidden_dropout, config.attention_dropout) == (0.25, 0.25)


def test_shards_are_read(folder, batch, tmp_path):
    sharded = tmp_path / "sharded"
    make("BERT").save_to_preset(sharded, max_shard_size=4000 / 1024**3)
    assert len(list(sharded.glob("model_*.weights.h5"))) > 1
    found, expected = (
        outputs_of(Encoder.from_preset(sharded), batch),
        outputs_of(Encoder.from_preset(folder), batch),
    )
    np.testing.assert_array_equal(found["sequence_output"], expected["sequence_output"])


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_half_precision_is_widened(dtype, tmp_path):
    theirs = make("BERT", dtype=dtype)
    theirs.save_to_preset(tmp_path)
    ours = Encoder.from_preset(tmp_path)
    table = ours.get_layer("embeddings").token.embeddings
    assert table.dtype == "float32"
    expected = ops.convert_to_numpy(ops.cast(theirs.token_embedding.embeddings, "float32"))
    np.testing.assert_array_equal(ops.convert_to_numpy(table), expected)


TASKS = {"BERT": "Bert", "DistilBERT": "DistilBert", "ALBERT": "Albert", "RoBERTa": "Roberta"}
TASKS |= {"XLM-RoBERTa": "XLMRoberta", "DeBERTa v3": "DebertaV3"}


def save_task(name, task, folder, **options):
    cls = getattr(keras_hub.models, f"{TASKS[name]}{task}")
    theirs = randomized(cls(make(name), **options))
    theirs.save_to_preset(folder)
    return theirs


@pytest.mark.parametrize("name", TASKS)
def test_a_classifier_gives_the_logits_of_keras_hub(name, batch, tmp_path):
    theirs = save_task(name, "TextClassifier", tmp_path, num_classes=3)
    ours = TextClassifier.from_preset(tmp_path)
    assert (ours.num_classes, ours.labels) == (3, None)
    expected = ops.convert_to_numpy(theirs({key: batch[key] for key in theirs.input}))
    rows = batch["padding_mask"][:, 0].astype(bool)
    np.testing.assert_allclose(ops.convert_to_numpy(ours(batch))[rows], expected[rows], atol=1e-4)


@pytest.mark.parametrize("name", TASKS)
def test_a_masked_lm_gives_the_logits_of_keras_hub(name, batch, tmp_path):
    theirs = save_task(name, "MaskedLM", tmp_path)
    positions = np.array([[0, 4, 2], [5, 8, 4], [1, 2, 6], [8, 0, 3]], "int32")  # all real
    inputs = {**batch, "mask_positions": positions}
    found = ops.convert_to_numpy(MaskedLM.from_preset(tmp_path)(inputs))
    expected = ops.convert_to_numpy(theirs({key: inputs[key] for key in theirs.input}))
    # Their norm's epsilon is always 1e-5.
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)


def test_an_encoder_of_a_task_reports_the_head(tmp_path):
    keras_hub.models.BertMaskedLM(make("BERT")).save_to_preset(tmp_path)
    with pytest.warns(UserWarning, match=r"5 weights .* not loaded: task/layers/masked_lm_head"):
        Encoder.from_preset(tmp_path)


def test_a_classifier_of_probabilities_is_not_taken_for_one_of_logits(tmp_path):
    make_task = keras_hub.models.BertTextClassifier
    make_task(make("BERT"), num_classes=3, activation="softmax").save_to_preset(tmp_path)
    assert KerasHubFolder.open(resolve(tmp_path)).task is None


# What a preset can have wrong, and what its error must name.


def test_an_unsupported_backbone_lists_the_supported_ones(folder):
    path = folder / "config.json"
    path.write_text(path.read_text().replace("BertBackbone", "FNetBackbone"))
    with pytest.raises(CheckpointError, match=r"BertBackbone.*FNetBackbone"):
        Encoder.from_preset(folder)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"relative_positions": True}, "relative_positions"),
        ({"num_heads": 5}, "num_heads"),
        ({"dtype": {"config": {"name": "int8_from_float32"}}}, "int8_from_float32"),
    ],
)
def test_what_a_configuration_says_and_is_not_understood_is_an_error(folder, change, named):
    reconfigure(folder, **change)
    with pytest.raises(ValueError, match=r"config\.json") as error:
        Encoder.from_preset(folder)
    assert named in str(error.value)


def test_a_truncated_file_is_named(folder):
    path = folder / "model.weights.h5"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CheckpointError, match=r"model\.weights\.h5 is cut short"):
        Encoder.from_preset(folder)


def test_a_missing_file_is_named(folder):
    (folder / "model.weights.h5").unlink()
    with pytest.raises(CheckpointError, match=r"model\.weights\.h5 is missing"):
        Encoder.from_preset(folder)


def test_a_missing_shard_is_named(tmp_path):
    make("BERT").save_to_preset(tmp_path, max_shard_size=4000 / 1024**3)
    (tmp_path / "model_00001.weights.h5").unlink()
    with pytest.raises(CheckpointError, match=r"model_00001\.weights\.h5"):
        Encoder.from_preset(tmp_path)


def test_a_wrong_shape_names_the_file_the_key_and_both_shapes(folder):
    reconfigure(folder, intermediate_dim=21)
    with pytest.raises(CheckpointError) as error:
        Encoder.from_preset(folder)
    for part in ("model.weights.h5", "feedforward_intermediate_dense", "(12, 20)", "(12, 21)"):
        assert part in str(error.value)


def test_a_missing_key_and_one_too_many_are_named(folder):
    reconfigure(folder, num_layers=1)
    with pytest.warns(UserWarning, match="transformer_encoder_1"):
        Encoder.from_preset(folder)
    reconfigure(folder, num_layers=3)
    with pytest.raises(CheckpointError, match="transformer_encoder_2"):
        Encoder.from_preset(folder)


def test_weights_kept_in_other_files_are_refused(folder, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(12 * 4))
    with h5py.File(folder / "model.weights.h5", "r+") as file:
        del file["layers/dense/vars/1"]
        file["layers/dense/vars"].create_dataset(
            "1", (12,), "float32", external=[(str(secret), 0, 48)]
        )
    with pytest.raises(CheckpointError, match="another file"):
        Encoder.from_preset(folder)
