"""Google's TF 1 checkpoints. The test writes them: arrays of a random model of `transformers` under
the names that google-research's code gives them."""

import json
import re
import sys
import warnings

import numpy as np
import pytest
import transformers
from keras import ops

from kerasbert import Encoder, MaskedLM, PretrainingModel
from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.google import GoogleFolder
from kerasbert.checkpoints.sources import resolve

tf = pytest.importorskip("tensorflow", reason="TF 1 checkpoints are written and read by TensorFlow")
torch = pytest.importorskip("torch", reason="the right answers come from transformers on torch")

SIZES = {
    "vocab_size": 31,
    "hidden_size": 12,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 20,
    "max_position_embeddings": 16,
}

# Names of Hugging Face's keys in the TF 1 code, applied in order.
TO_TF1 = {
    "bert": [
        (r"^(embeddings|encoder|pooler)\.", r"bert.\1."),
        (r"layer\.(\d+)", r"layer_\1"),
    ],
    "albert": [
        (r"^(embeddings)\.", r"bert.\1."),
        (r"^pooler", "bert.pooler.dense"),
        (r"^encoder\.embedding_hidden", "bert.encoder.embedding_hidden"),
        (
            r"^encoder\.albert_layer_groups\.(\d+)\.albert_layers\.(\d+)",
            r"bert.encoder.transformer.group_\1.inner_group_\2",
        ),
        (r"attention\.(query|key|value)", r"attention_1.self.\1"),
        (r"attention\.dense", "attention_1.output.dense"),
        (r"attention\.LayerNorm", "LayerNorm"),
        (r"full_layer_layer_norm", "LayerNorm_1"),
        (r"ffn_output", "ffn_1.intermediate.output.dense"),
        (r"ffn\.", "ffn_1.intermediate.dense."),
    ],
    "electra": [
        (r"^(embeddings|embeddings_project|encoder)\.", r"electra.\1."),
        (r"layer\.(\d+)", r"layer_\1"),
    ],
}


def write(folder, tensors, name="bert_model.ckpt"):
    """A checkpoint of arrays by name, as `tf.compat.v1.train.Saver` writes one."""
    folder.mkdir(exist_ok=True)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        for key, value in tensors.items():
            tf.compat.v1.get_variable(key, initializer=tf.constant(value))
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver().save(session, str(folder / name))
    return folder


def in_tf1(model, family):
    """The arrays of a model of `transformers` under TF 1 names."""
    tensors = {}
    for key, value in model.state_dict().items():
        if "position_ids" in key or "token_type_ids" in key:
            continue
        array = value.numpy()
        for pattern, replacement in TO_TF1[family]:
            key = re.sub(pattern, replacement, key)
        is_norm, is_table = "LayerNorm" in key, "_embeddings." in key
        if key.endswith(".weight"):
            key = key.removesuffix(".weight")
            key += "" if is_table else ".gamma" if is_norm else ".kernel"
            array = array if is_norm or is_table else array.T
        elif is_norm:
            key = key.removesuffix(".bias") + ".beta"
        tensors[key.replace(".", "/")] = np.ascontiguousarray(array)
    return tensors


def randomized(model):
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm" in name.lower() else 0.0, 0.3, generator=generator)
    return model.eval()


def with_optimizer_states(tensors):
    states = {"global_step": np.array(7, "int64")}
    for key, value in tensors.items():
        states |= {f"{key}/adam_m": np.ones_like(value), f"{key}/adam_v": np.ones_like(value)}
    return {**tensors, **states}


def bert(**changes):
    return randomized(transformers.BertModel(transformers.BertConfig(**{**SIZES, **changes})))


def albert(**changes):
    sizes = {**SIZES, "embedding_size": 5, "hidden_act": "gelu_new", **changes}
    return randomized(transformers.AlbertModel(transformers.AlbertConfig(**sizes)))


def electra(**changes):
    sizes = {**SIZES, "hidden_size": 128, "num_attention_heads": 2, "embedding_size": 5, **changes}
    return randomized(transformers.ElectraModel(transformers.ElectraConfig(**sizes)))


MODELS = {
    "bert": lambda: ("bert", bert()),
    "bert, relu, three segments": lambda: ("bert", bert(hidden_act="relu", type_vocab_size=3)),
    "albert": lambda: ("albert", albert()),
    "albert, two groups of two": lambda: (
        "albert",
        albert(num_hidden_layers=4, num_hidden_groups=2, inner_group_num=2),
    ),
    "electra": lambda: ("electra", electra()),
    "electra, not projected": lambda: ("electra", electra(embedding_size=128)),
}
CONFIG_FILES = {"bert": "bert_config.json", "albert": "albert_config.json"}


def release(folder, family, model):
    """What Google's archives hold: the checkpoint and, apart from ELECTRA's, the configuration."""
    write(folder, with_optimizer_states(in_tf1(model, family)))
    if family in CONFIG_FILES:
        config = {key: getattr(model.config, key) for key in (*SIZES, "type_vocab_size")}
        config["hidden_act"] = model.config.hidden_act.replace("gelu_new", "gelu")
        for key in ("embedding_size", "num_hidden_groups", "inner_group_num"):
            if family == "albert":
                config[key] = getattr(model.config, key)
        (folder / CONFIG_FILES[family]).write_text(json.dumps(config))
    return folder


def load_quietly(folder, cls=Encoder):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return cls.from_preset(folder)


@pytest.fixture
def batch():
    mask = np.ones((3, 9), "int32")
    mask[0, 5:] = mask[1, :4] = 0
    draw = np.random.default_rng(7)
    return {
        "token_ids": draw.integers(0, 31, (3, 9)).astype("int32"),
        "segment_ids": draw.integers(0, 2, (3, 9)).astype("int32"),
        "padding_mask": mask,
    }


def run(model, batch):
    names = {"token_ids": "input_ids", "segment_ids": "token_type_ids"}
    names["padding_mask"] = "attention_mask"
    with torch.no_grad():
        return model(**{names[key]: torch.tensor(batch[key]).long() for key in batch})


@pytest.fixture
def folder(tmp_path):
    return release(tmp_path / "uncased_L-2_H-12_A-3", "bert", bert())


@pytest.mark.parametrize("name", MODELS)
def test_outputs_are_those_of_transformers(name, batch, tmp_path):
    family, theirs = MODELS[name]()
    ours = load_quietly(release(tmp_path / "released", family, theirs))
    assert ours.family == family
    expected, found = run(theirs, batch), ours(batch)
    real = batch["padding_mask"].astype(bool)
    np.testing.assert_allclose(
        ops.convert_to_numpy(found["sequence_output"])[real],
        expected.last_hidden_state.numpy()[real],
        atol=1e-4,
    )
    if "pooled_output" in found:
        rows = real[:, 0]
        np.testing.assert_allclose(
            ops.convert_to_numpy(found["pooled_output"])[rows],
            expected.pooler_output.numpy()[rows],
            atol=1e-4,
        )


@pytest.mark.parametrize(
    ("family", "model", "activation"),
    [("bert", bert, "gelu"), ("albert", albert, "gelu_tanh"), ("electra", electra, "gelu")],
)
def test_gelu_is_the_one_that_the_code_computes(family, model, activation, tmp_path):
    opened = GoogleFolder.open(resolve(release(tmp_path / "released", family, model())))
    assert opened.config.activation == activation


def test_the_heads_of_pretraining_serve_their_task_and_are_reported_without_it(tmp_path, batch):
    theirs = randomized(transformers.BertForPreTraining(transformers.BertConfig(**SIZES)))
    predictions, pairs = theirs.cls.predictions, theirs.cls.seq_relationship
    heads = {
        "cls/predictions/transform/dense/kernel": predictions.transform.dense.weight.T,
        "cls/predictions/transform/dense/bias": predictions.transform.dense.bias,
        "cls/predictions/transform/LayerNorm/gamma": predictions.transform.LayerNorm.weight,
        "cls/predictions/transform/LayerNorm/beta": predictions.transform.LayerNorm.bias,
        "cls/predictions/output_bias": predictions.bias,
        "cls/seq_relationship/output_weights": pairs.weight,
        "cls/seq_relationship/output_bias": pairs.bias,
    }
    heads = {key: np.ascontiguousarray(value.detach()) for key, value in heads.items()}
    folder = write(tmp_path / "released", {**in_tf1(theirs.bert, "bert"), **heads})
    (folder / "bert_config.json").write_text(json.dumps({**SIZES, "type_vocab_size": 2}))

    with pytest.warns(UserWarning, match=r"7 weights .* not loaded: cls/predictions"):
        Encoder.from_preset(folder)
    ours, expected = load_quietly(folder, PretrainingModel)(batch), run(theirs, batch)
    real = batch["padding_mask"].astype(bool)
    for found, wanted, where in (
        (ours["masked_tokens"], expected.prediction_logits, real),
        (ours["sentence_pairs"], expected.seq_relationship_logits, real[:, 0]),
    ):
        np.testing.assert_allclose(
            ops.convert_to_numpy(found)[where], wanted.numpy()[where], atol=1e-4
        )


def test_a_checkpoint_without_the_heads_says_so(folder):
    assert GoogleFolder.open(resolve(folder)).head("masked_lm") is None


def test_electras_generator_is_what_a_masked_lm_wants(tmp_path, batch):
    discriminator = electra()
    sizes = {**SIZES, "hidden_size": 64, "num_attention_heads": 1, "embedding_size": 5}
    generator = transformers.ElectraForMaskedLM(transformers.ElectraConfig(**sizes))
    generator = randomized(generator)
    generator.electra.embeddings.load_state_dict(discriminator.embeddings.state_dict())
    tensors = in_tf1(discriminator, "electra")
    for key, value in in_tf1(generator.electra, "electra").items():
        if not key.startswith("electra/embeddings/"):
            tensors[key.replace("electra/", "generator/", 1)] = value
    head = generator.generator_predictions
    tensors |= {
        "generator_predictions/dense/kernel": head.dense.weight.detach().numpy().T,
        "generator_predictions/dense/bias": head.dense.bias.detach().numpy(),
        "generator_predictions/LayerNorm/gamma": head.LayerNorm.weight.detach().numpy(),
        "generator_predictions/LayerNorm/beta": head.LayerNorm.bias.detach().numpy(),
        "generator_predictions/output_bias": generator.generator_lm_head.bias.detach().numpy(),
    }
    folder = write(tmp_path / "electra_small", tensors, "electra_small")

    encoder, masked_lm = load_quietly(folder), load_quietly(folder, MaskedLM)

    real = batch["padding_mask"].astype(bool)
    np.testing.assert_allclose(
        ops.convert_to_numpy(encoder(batch)["sequence_output"])[real],
        run(discriminator, batch).last_hidden_state.numpy()[real],
        atol=1e-4,
    )
    np.testing.assert_allclose(
        ops.convert_to_numpy(masked_lm(batch))[real],
        run(generator, batch).logits.numpy()[real],
        atol=1e-4,
    )


def test_states_of_other_optimizers_are_passed_over(folder):
    tensors = in_tf1(bert(), "bert")
    key = "bert/pooler/dense/kernel"
    others = ("lamb_m", "lamb_v", "Adam", "Adam_1", "adafactor_v", "adafactor_vr", "slot_vc")
    states = {f"{key}/{name}": np.ones(2, "float32") for name in others}
    write(folder, {**tensors, **states, "beta1_power": np.float32(0.9)})
    load_quietly(folder)


def test_the_latest_of_several_checkpoints_is_taken(folder, batch):
    other = bert()
    other.embeddings.LayerNorm.bias.data += 1
    write(folder, in_tf1(other, "bert"), "model.ckpt-20")  # it also rewrites the file `checkpoint`
    found = load_quietly(folder)(batch)["sequence_output"]
    real = batch["padding_mask"].astype(bool)
    np.testing.assert_allclose(
        ops.convert_to_numpy(found)[real],
        run(other, batch).last_hidden_state.numpy()[real],
        atol=1e-4,
    )


# What can be wrong, and what its error must name.


def test_several_checkpoints_of_which_none_is_named_are_refused(folder):
    write(folder, in_tf1(bert(), "bert"), "model.ckpt-20")
    (folder / "checkpoint").unlink()
    with pytest.raises(CheckpointError, match=r"several checkpoints.*bert_model.*ckpt-20"):
        Encoder.from_preset(folder)


def test_tensorflow_is_asked_for_where_it_is_missing(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", None)
    with pytest.raises(ImportError, match="pip install tensorflow"):
        Encoder.from_preset(folder)


@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_a_truncated_checkpoint_is_named(folder, part):
    path = folder / f"bert_model.ckpt.{part}"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(CheckpointError, match=r"bert_model\.ckpt\.index.*damaged"):
        Encoder.from_preset(folder)


def test_a_missing_data_file_is_named(folder):
    (folder / "bert_model.ckpt.data-00000-of-00001").unlink()
    with pytest.raises(CheckpointError, match=r"bert_model\.ckpt\.index"):
        Encoder.from_preset(folder)


def test_a_wrong_shape_names_the_variable_and_both_shapes(folder):
    path = folder / "bert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "intermediate_size": 21}))
    with pytest.raises(CheckpointError) as error:
        Encoder.from_preset(folder)
    for part in ("bert_config.json", "intermediate/dense/kernel", "(12, 20)", "(12, 21)"):
        assert part in str(error.value)


def test_a_checkpoint_of_something_else_says_what_is_missing(tmp_path):
    write(tmp_path / "other", {"kernel": np.ones(3, "float32")})
    with pytest.raises(CheckpointError, match=r"bert_config\.json.*word_embeddings"):
        Encoder.from_preset(tmp_path / "other")


def test_a_field_that_is_not_understood_is_an_error(folder):
    path = folder / "bert_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "rotary": True}))
    with pytest.raises(ValueError, match=r"bert_config\.json.*rotary"):
        Encoder.from_preset(folder)
