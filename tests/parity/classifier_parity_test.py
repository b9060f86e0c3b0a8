"""Sequence classifiers read from, and written for, `transformers`."""

import json

import numpy as np
import pytest
import transformers

from kerasbert import TextClassifier

SMALL = {"vocab_size": 97, "max_position_embeddings": 40}
STACK = {
    **SMALL,
    "hidden_size": 36,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 50,
}
NAMES = {0: "alarm", 1: "music", 2: "weather"}


def labelled(names=NAMES):
    return {"id2label": names, "label2id": {name: index for index, name in names.items()}}


def bert(**changes):
    config = transformers.BertConfig(**STACK, **changes)
    return transformers.BertForSequenceClassification(config)


def distilbert(**changes):
    config = transformers.DistilBertConfig(
        **SMALL, dim=36, n_heads=3, n_layers=2, hidden_dim=50, **changes
    )
    return transformers.DistilBertForSequenceClassification(config)


def albert(**changes):
    config = transformers.AlbertConfig(**STACK, embedding_size=20, **changes)
    return transformers.AlbertForSequenceClassification(config)


CLASSIFIERS = {
    "bert": lambda: bert(hidden_act="relu", classifier_dropout=0.3, **labelled()),
    "bert, regression": lambda: bert(num_labels=1),
    "distilbert": lambda: distilbert(activation="relu", **labelled()),
    "distilbert, multi-label": lambda: distilbert(
        problem_type="multi_label_classification", num_labels=5
    ),
    "albert": lambda: albert(num_hidden_groups=2, inner_group_num=2, **labelled()),
}


@pytest.fixture(scope="module", params=CLASSIFIERS)
def pair(request, randomize, tmp_path_factory):
    theirs = randomize(CLASSIFIERS[request.param]())
    folder = tmp_path_factory.mktemp("checkpoint")
    theirs.save_pretrained(folder)
    return theirs, TextClassifier.from_preset(folder)


@pytest.fixture(scope="module")
def readable(batch):
    """The rows that start with a real token: heads read the first position."""
    rows = batch["padding_mask"][:, 0] == 1
    return {name: array[rows] for name, array in batch.items()}


def test_logits_are_those_of_transformers(pair, readable, run_transformers):
    theirs, ours = pair
    expected = run_transformers(theirs, readable).logits.numpy()
    np.testing.assert_allclose(ours.predict(readable, verbose=0), expected, atol=1e-4)


def test_labels_and_kind_are_read(pair):
    theirs, ours = pair
    config = theirs.config
    assert ours.num_classes == config.num_labels
    assert ours.multi_label == (config.problem_type == "multi_label_classification")
    if config.num_labels > 1:
        assert ours.labels == [config.id2label[index] for index in range(config.num_labels)]


def test_the_dropout_of_the_head_is_read(pair):
    theirs, ours = pair
    assert ours.head.dropout.rate == pytest.approx(theirs.dropout.p)


def test_transformers_loads_an_exported_classifier_with_every_key_and_the_same_logits(
    pair, readable, run_transformers, tmp_path
):
    theirs, ours = pair
    ours.export_to_transformers(tmp_path)
    again, report = transformers.AutoModelForSequenceClassification.from_pretrained(
        tmp_path, output_loading_info=True
    )
    assert not any(report.values()), report
    np.testing.assert_allclose(
        run_transformers(again.eval(), readable).logits.numpy(),
        run_transformers(theirs, readable).logits.numpy(),
        atol=1e-5,
    )
    assert again.config.id2label == theirs.config.id2label
    assert again.dropout.p == pytest.approx(theirs.dropout.p)
    if theirs.config.problem_type:
        assert again.config.problem_type == theirs.config.problem_type


def test_a_classifier_without_the_familys_head_is_not_exported(pair, tmp_path):
    _, ours = pair
    pooled = TextClassifier(ours.backbone, num_classes=2, pooling="mean")
    with pytest.raises(ValueError, match="pooling='mean'"):
        pooled.export_to_transformers(tmp_path / "exported")
    assert not (tmp_path / "exported").exists()


@pytest.mark.parametrize("changes", [{"num_classes": 7}, {"labels": ["yes", "no"]}])
def test_other_classes_than_the_saved_ones_mean_a_new_head_with_a_warning(
    changes, randomize, tmp_path
):
    randomize(bert(**labelled())).save_pretrained(tmp_path)
    with pytest.warns(UserWarning, match="head is new"):
        ours = TextClassifier.from_preset(tmp_path, **changes)
    assert ours.num_classes == changes.get("num_classes", 2)
    assert ours.labels == changes.get("labels")


@pytest.mark.parametrize("changes", [{"num_classes": 3}, {"labels": list(NAMES.values())}])
def test_the_same_classes_keep_the_head(changes, readable, run_transformers, randomize, tmp_path):
    theirs = randomize(bert(**labelled()))
    theirs.save_pretrained(tmp_path)
    ours = TextClassifier.from_preset(tmp_path, **changes)
    expected = run_transformers(theirs, readable).logits.numpy()
    np.testing.assert_allclose(ours.predict(readable, verbose=0), expected, atol=1e-4)
    assert ours.labels == list(NAMES.values())


def test_the_number_of_labels_counts_where_they_have_no_names(randomize, tmp_path):
    randomize(bert(num_labels=4)).save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    values = json.loads(path.read_text())
    del values["id2label"], values["label2id"]
    path.write_text(json.dumps({**values, "num_labels": 4}))
    assert TextClassifier.from_preset(tmp_path).num_classes == 4
