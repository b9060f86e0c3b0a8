"""Checkpoints of KerasHub and Google, all the way to a model of `transformers`."""

import json

import keras_hub
import numpy as np
import pytest
import torch
import transformers
from keras import ops

from kerasbert import Encoder, TextClassifier, Tokenizer
from kerasbert.families import get_family
from kerasbert.models.restating import restated_for
from kerasbert.pipelines import convert_checkpoint

SIZES = {
    "num_layers": 2,
    "num_heads": 3,
    "hidden_dim": 12,
    "intermediate_dim": 20,
    "max_sequence_length": 16,
}
BACKBONES = {
    "Bert": {"vocabulary_size": 31},
    "DistilBert": {"vocabulary_size": 31},
    "Albert": {"vocabulary_size": 31, "embedding_dim": 5},
    "Roberta": {"vocabulary_size": 31},
    "XLMRoberta": {"vocabulary_size": 31},
    "Electra": {"vocab_size": 31, "embedding_dim": 5},
    "DebertaV3": {"vocabulary_size": 31, "bucket_size": 8},
}
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "wake", "me", "play", "jazz"]


def randomized(model):
    draw = np.random.default_rng(5)
    for variable in model.trainable_variables:
        values = draw.normal(0, 0.3, variable.shape) + ("gamma" in variable.path)
        variable.assign(values.astype("float32"))
    return model


def backbone(name):
    return randomized(getattr(keras_hub.models, f"{name}Backbone")(**SIZES, **BACKBONES[name]))


@pytest.fixture
def batch():
    """Padding on the right only, and RoBERTa's padding id only there: transformers goes by it."""
    mask = np.ones((3, 9), "int32")
    mask[0, 5:] = mask[1, 1:] = 0
    ids = np.random.default_rng(7).integers(5, 31, (3, 9)).astype("int32")
    return {
        "token_ids": np.where(mask, ids, 1),
        "segment_ids": np.zeros((3, 9), "int32"),
        "padding_mask": mask,
    }


def run_theirs(model, batch):
    ids, mask = (torch.tensor(batch[name]).long() for name in ("token_ids", "padding_mask"))
    with torch.no_grad():
        return model.eval()(input_ids=ids, attention_mask=mask)


@pytest.mark.parametrize("name", BACKBONES)
def test_a_keras_hub_backbone_reaches_transformers(name, batch, tmp_path):
    source = backbone(name)
    source.save_to_preset(tmp_path / "hub")
    convert_checkpoint(tmp_path / "hub", tmp_path / "ours", "kerasbert", say=lambda line: None)
    convert_checkpoint(
        tmp_path / "ours", tmp_path / "theirs", "transformers", say=lambda line: None
    )
    # A config.json of transformers cannot say that there is no pooler.
    options = {"add_pooling_layer": False} if "Roberta" in name else {}
    theirs, report = transformers.AutoModel.from_pretrained(
        tmp_path / "theirs", output_loading_info=True, **options
    )
    assert not any(report.values()), report
    expected = source({key: batch[key] for key in source.input})
    expected = expected["sequence_output"] if isinstance(expected, dict) else expected
    real = batch["padding_mask"].astype(bool)
    np.testing.assert_allclose(
        run_theirs(theirs, batch).last_hidden_state.numpy()[real],
        ops.convert_to_numpy(expected)[real],
        atol=1e-4,
    )


@pytest.mark.parametrize("name", ["Bert", "Roberta", "DebertaV3"])
def test_a_keras_hub_classifier_reaches_transformers(name, batch, tmp_path):
    cls = getattr(keras_hub.models, f"{name}TextClassifier")
    source = randomized(cls(backbone(name), num_classes=3))
    source.save_to_preset(tmp_path / "hub")
    converted = convert_checkpoint(
        tmp_path / "hub", tmp_path / "theirs", "transformers", say=lambda line: None
    )
    assert converted.model == "TextClassifier"
    model = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path / "theirs")
    expected = ops.convert_to_numpy(source({key: batch[key] for key in source.input}))
    np.testing.assert_allclose(run_theirs(model, batch).logits.numpy(), expected, atol=1e-4)


def test_a_keras_hub_tokenizer_comes_along(tmp_path):
    preprocessor = keras_hub.models.BertTextClassifierPreprocessor(
        keras_hub.models.BertTokenizer(VOCABULARY, lowercase=True), sequence_length=12
    )
    source = keras_hub.models.BertTextClassifier(
        backbone("Bert"), num_classes=3, preprocessor=preprocessor
    )
    source.save_to_preset(tmp_path / "hub")
    convert_checkpoint(tmp_path / "hub", tmp_path / "ours", "kerasbert", say=lambda line: None)
    ours = TextClassifier.from_preset(tmp_path / "ours")
    texts = ["wake me", "Play jazz"]
    np.testing.assert_allclose(
        ours.predict(texts, verbose=0),
        ops.convert_to_numpy(source(preprocessor(texts))),
        atol=1e-4,
    )
    convert_checkpoint(
        tmp_path / "ours", tmp_path / "theirs", "transformers", say=lambda line: None
    )
    reader = transformers.AutoTokenizer.from_pretrained(tmp_path / "theirs")
    assert reader("Play jazz")["input_ids"] == [2, 7, 8, 3]


def test_what_a_layout_says_in_other_words_is_said(tmp_path):
    lines = []
    backbone("Roberta").save_to_preset(tmp_path / "hub")
    convert_checkpoint(tmp_path / "hub", tmp_path / "theirs", "transformers", say=lines.append)
    assert any("padding must be on the right" in line for line in lines)
    lines.clear()
    backbone("Electra").save_to_preset(tmp_path / "electra")
    convert_checkpoint(tmp_path / "electra", tmp_path / "e", "transformers", say=lines.append)
    assert any("the pooler is left out" in line for line in lines)


def test_a_google_checkpoint_reaches_transformers(batch, tmp_path):
    tf = pytest.importorskip("tensorflow", reason="TF 1 checkpoints are written by TensorFlow")
    config = {
        "vocab_size": 31,
        "hidden_size": 12,
        "num_attention_heads": 3,
        "num_hidden_layers": 1,
        "intermediate_size": 20,
        "max_position_embeddings": 16,
        "type_vocab_size": 2,
        "hidden_act": "gelu",
    }
    shapes = {
        "bert/embeddings/word_embeddings": (31, 12),
        "bert/embeddings/position_embeddings": (16, 12),
        "bert/embeddings/token_type_embeddings": (2, 12),
    }
    norms = ["bert/embeddings", "bert/encoder/layer_0/attention/output"]
    norms.append("bert/encoder/layer_0/output")
    for name in norms:
        shapes |= {f"{name}/LayerNorm/gamma": (12,), f"{name}/LayerNorm/beta": (12,)}
    layer = "bert/encoder/layer_0"
    dense = {f"{layer}/attention/self/{part}": (12, 12) for part in ("query", "key", "value")}
    dense |= {f"{layer}/attention/output/dense": (12, 12), "bert/pooler/dense": (12, 12)}
    dense |= {f"{layer}/intermediate/dense": (12, 20), f"{layer}/output/dense": (20, 12)}
    for name, shape in dense.items():
        shapes |= {f"{name}/kernel": shape, f"{name}/bias": shape[-1:]}
    released = tmp_path / "uncased_L-1_H-12_A-3"
    released.mkdir()
    draw = np.random.default_rng(3)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        for name, shape in shapes.items():
            tf.compat.v1.get_variable(name, initializer=draw.normal(size=shape).astype("float32"))
        session.run(tf.compat.v1.global_variables_initializer())
        tf.compat.v1.train.Saver().save(session, str(released / "bert_model.ckpt"))
    (released / "bert_config.json").write_text(json.dumps(config))
    (released / "vocab.txt").write_text("\n".join(VOCABULARY) + "\n")

    convert_checkpoint(released, tmp_path / "theirs", "transformers", say=lambda line: None)

    model = transformers.AutoModel.from_pretrained(tmp_path / "theirs")
    found = Encoder.from_preset(released)(batch)["sequence_output"]
    real = batch["padding_mask"].astype(bool)
    np.testing.assert_allclose(
        run_theirs(model, batch).last_hidden_state.numpy()[real],
        ops.convert_to_numpy(found)[real],
        atol=1e-4,
    )
    assert Tokenizer.from_preset(tmp_path / "theirs").encode("Play jazz").ids == [2, 7, 8, 3]


def test_a_model_that_needs_no_restating_stays_itself(tmp_path):
    backbone("Bert").save_to_preset(tmp_path / "hub")
    encoder = Encoder.from_preset(tmp_path / "hub")
    assert restated_for(encoder, get_family("bert")) == (encoder, [])
    assert restated_for(encoder, get_family("albert")) == (encoder, [])
