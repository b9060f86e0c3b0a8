"""Classifiers on raw text and on tensors: what goes in, what comes out, what is refused."""

import json
import warnings

import keras
import numpy as np
import pytest
from keras import ops
from sklearn.metrics import f1_score

from kerasbert import Encoder, TextClassifier, TextClassifierPreprocessor, Tokenizer

KINDS = {
    "single label": {"labels": ["alarm", "music"]},
    "numbered": {"num_classes": 3},
    "multi-label": {"labels": ["a", "b", "c"], "multi_label": True},
    "regression": {"num_classes": 1},
}


@pytest.fixture(scope="module")
def encoder(config):
    return Encoder(config)


@pytest.fixture(scope="module")
def classifier(encoder, preprocessor):
    return TextClassifier(encoder, labels=["alarm", "music"], preprocessor=preprocessor)


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


# Shapes and dtypes of logits


@pytest.mark.parametrize("pooling", [None, "cls", "mean", "max"])
def test_a_call_gives_logits_as_one_float32_tensor(encoder, batch, pooling):
    logits = TextClassifier(encoder, num_classes=3, pooling=pooling)(batch)
    assert tuple(logits.shape) == (2, 3)
    assert keras.backend.standardize_dtype(logits.dtype) == "float32"


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_pooling_is_a_linear_layer_over_pooled_states(encoder, batch, pooling):
    model = TextClassifier(encoder, num_classes=3, pooling=pooling)
    states = ops.convert_to_numpy(encoder(batch)["sequence_output"])
    rows = []
    for state, mask in zip(states, batch["padding_mask"].astype(bool), strict=True):
        pooled = {"cls": state[0], "mean": state[mask].mean(0), "max": state[mask].max(0)}
        rows.append(pooled[pooling])
    output = model.head.dense_output
    expected = np.stack(rows) @ ops.convert_to_numpy(output.kernel)
    expected = expected + ops.convert_to_numpy(output.bias)
    np.testing.assert_allclose(ops.convert_to_numpy(model(batch)), expected, atol=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "max", "cls"])
def test_a_pooler_that_is_not_used_is_not_trained(config, pooling):
    model = TextClassifier(Encoder(config), num_classes=3, pooling=pooling)
    assert not [v.path for v in model.trainable_variables if v.path.startswith("pooler")]
    model = TextClassifier(Encoder(config), num_classes=3)
    assert [v.path for v in model.trainable_variables if v.path.startswith("pooler")]


# Raw input


def test_texts_and_their_tensors_give_the_same_logits(classifier, preprocessor, texts):
    from_text = classifier.predict(texts, verbose=0)
    from_tensors = classifier.predict(preprocessor(texts), verbose=0)
    np.testing.assert_allclose(from_text, from_tensors, atol=1e-5)
    np.testing.assert_allclose(classifier.predict_on_batch(texts), from_text, atol=1e-5)


def test_predict_keeps_the_order_of_the_input(classifier, preprocessor, texts):
    many = [" ".join(texts[index % 7 : index % 7 + 1 + index % 3]) for index in range(23)]
    found = classifier.predict(many, batch_size=4, verbose=0)
    one_by_one = [classifier(preprocessor([text])) for text in many]
    expected = np.concatenate([ops.convert_to_numpy(logits) for logits in one_by_one])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_pairs_differ_from_single_texts(classifier, texts):
    pairs = {"text": texts, "text_pair": texts[::-1]}
    found = classifier.predict(pairs, verbose=0)
    assert found.shape == (7, 2)
    assert np.abs(found - classifier.predict(texts, verbose=0)).max() > 1e-3
    labels = ["alarm", "music"] * 3 + ["alarm"]
    assert classifier.evaluate(pairs, labels, verbose=0, return_dict=True)["loss"] > 0


def test_classify_names_labels_best_first(classifier, texts):
    found = classifier.classify(texts)
    expected = softmax(classifier.predict(texts, verbose=0))
    for answer, row in zip(found, expected, strict=True):
        scores = [item["score"] for item in answer]
        assert scores == sorted(scores, reverse=True)
        assert {item["label"]: item["score"] for item in answer} == pytest.approx(
            {"alarm": row[0], "music": row[1]}, abs=1e-6
        )


def test_classify_takes_one_text_none_and_an_empty_one(classifier):
    assert len(classifier.classify("wake me")) == 1
    assert len(classifier.classify("")) == 1
    assert len(classifier.classify(["", "jazz"])) == 2
    assert classifier.classify([]) == []


def test_classes_without_names_are_numbered(encoder, preprocessor, texts):
    model = TextClassifier(encoder, num_classes=3, preprocessor=preprocessor)
    assert {item["label"] for item in model.classify(texts[:1])[0]} == {0, 1, 2}


def test_scores_of_many_labels_are_independent(encoder, preprocessor, texts):
    model = TextClassifier(
        encoder, labels=["a", "b", "c"], preprocessor=preprocessor, multi_label=True
    )
    logits = model.predict(texts, verbose=0)
    scores = {item["label"]: item["score"] for item in model.classify(texts)[0]}
    expected = 1 / (1 + np.exp(-logits[0]))
    assert [scores[name] for name in "abc"] == pytest.approx(expected.tolist(), abs=1e-6)


def test_a_regression_gives_its_value(encoder, preprocessor, texts):
    model = TextClassifier(encoder, num_classes=1, preprocessor=preprocessor)
    value = model.predict(texts[:1], verbose=0)[0, 0]
    assert model.classify(texts[:1]) == [[{"label": 0, "score": pytest.approx(value, abs=1e-6)}]]


# Loss and metrics


def test_loss_and_accuracy_are_those_of_the_examples(classifier, texts, labels):
    """Seven examples in batches of four: the last batch is filled, the buckets reorder."""
    logits = classifier.predict(texts, verbose=0)
    targets = np.array([["alarm", "music"].index(label) for label in labels])
    losses = -np.log(softmax(logits)[np.arange(7), targets])
    found = classifier.evaluate(texts, labels, batch_size=4, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(losses.mean(), rel=1e-5)
    assert found["accuracy"] == pytest.approx((logits.argmax(1) == targets).mean())

    weights = np.linspace(0.2, 2.0, 7)
    found = classifier.evaluate(
        texts, labels, batch_size=4, sample_weight=weights, verbose=0, return_dict=True
    )
    assert found["loss"] == pytest.approx((losses * weights).mean(), rel=1e-5)
    assert found["accuracy"] == pytest.approx((logits.argmax(1) == targets).mean())


def test_losses_of_many_labels_and_of_values_are_those_of_the_examples(
    encoder, preprocessor, texts
):
    many = TextClassifier(encoder, num_classes=3, preprocessor=preprocessor, multi_label=True)
    targets = np.random.default_rng(0).integers(0, 2, (7, 3))
    logits = many.predict(texts, verbose=0)
    found = many.evaluate(texts, targets, batch_size=4, verbose=0, return_dict=True)
    # Binary cross-entropy from logits: log(1 + exp(z)) - y z
    expected = np.mean(np.log1p(np.exp(logits)) - targets * logits)
    assert found["loss"] == pytest.approx(expected, rel=1e-5)
    assert found["accuracy"] == pytest.approx(np.mean((logits > 0) == targets))
    assert found["f1"] == pytest.approx(f1_score(targets, logits > 0, average="micro"), rel=1e-5)

    value = TextClassifier(encoder, num_classes=1, preprocessor=preprocessor)
    targets = np.arange(7.0)
    values = value.predict(texts, verbose=0)[:, 0]
    error = np.mean((values - targets) ** 2)
    found = value.evaluate(texts, targets, batch_size=4, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(error, rel=1e-5)
    assert found["mse"] == pytest.approx(error, rel=1e-5)
    assert found["pearson"] == pytest.approx(np.corrcoef(values, targets)[0, 1], abs=1e-4)


def test_own_metrics_weighted_or_not_see_the_examples_alone(config, preprocessor, texts, labels):
    model = TextClassifier(Encoder(config), labels=["alarm", "music"], preprocessor=preprocessor)
    model.compile(
        metrics=[keras.metrics.SparseCategoricalAccuracy(name="plain")],
        weighted_metrics=[keras.metrics.SparseCategoricalAccuracy(name="weighted")],
    )
    logits = model.predict(texts, verbose=0)
    hits = logits.argmax(1) == np.array([label == "music" for label in labels])
    weights = np.linspace(0.2, 2.0, 7)
    found = model.evaluate(
        texts, labels, batch_size=4, sample_weight=weights, verbose=0, return_dict=True
    )
    assert found["plain"] == pytest.approx(hits.mean())
    assert found["weighted"] == pytest.approx((hits * weights).sum() / weights.sum(), rel=1e-5)
    losses = -np.log(softmax(logits)[np.arange(7), [int(label == "music") for label in labels]])
    assert found["loss"] == pytest.approx((losses * weights).mean(), rel=1e-5)


def test_steps_on_batches_take_texts_and_labels_too(config, preprocessor, texts, labels):
    model = TextClassifier(Encoder(config), labels=["alarm", "music"], preprocessor=preprocessor)
    weights = [1.0] * 7
    evaluated = model.test_on_batch(texts, labels, sample_weight=weights, return_dict=True)
    expected = model.evaluate(texts, labels, verbose=0, return_dict=True)
    assert evaluated["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    trained = model.train_on_batch(texts, labels, class_weight={"music": 2.0}, return_dict=True)
    assert np.isfinite(trained["loss"])


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "neither"),
        ({"num_classes": 3, "labels": ["a", "b"]}, "num_classes=3"),
        ({"num_classes": 0}, "num_classes"),
        ({"num_classes": 2, "pooling": "sum"}, "pooling='sum'"),
    ],
)
def test_contradicting_arguments_are_refused(encoder, arguments, message):
    with pytest.raises(ValueError, match=message):
        TextClassifier(encoder, **arguments)


def test_a_tokenizer_with_more_tokens_than_embeddings_is_refused(config, preprocessor):
    small = Encoder(config.replace(vocabulary_size=20))
    size = preprocessor.tokenizer.vocabulary_size()
    with pytest.raises(ValueError, match=rf"more tokens.*{size} and 20"):
        TextClassifier(small, num_classes=2, preprocessor=preprocessor)


def test_a_preprocessor_that_is_longer_than_the_encoder_is_refused(encoder, preprocessor):
    long = TextClassifierPreprocessor(preprocessor.tokenizer, sequence_length=33)
    with pytest.raises(ValueError, match=r"`sequence_length`.*33 and 32"):
        TextClassifier(encoder, num_classes=2, preprocessor=long)


@pytest.mark.parametrize("method", ["fit", "evaluate"])
@pytest.mark.parametrize(
    ("y", "message"),
    [
        (["alarm"] * 6, "7 in x, 6 in y"),
        (["alarm"] * 6 + ["snow"], "'snow' at position 6"),
        ([0] * 6 + [2], "from 0 to 1.*2 at position 6"),
        (None, "need labels"),
    ],
)
def test_labels_that_do_not_fit_are_refused(classifier, texts, method, y, message):
    with pytest.raises(ValueError, match=message):
        getattr(classifier, method)(texts, y, verbose=0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": [1.0] * 6}, "6 in sample_weight"),
        ({"class_weight": {"snow": 1.0}}, "'snow'"),
        ({"validation_data": (["a", "b"], ["alarm"])}, "2 in x, 1 in y"),
        ({"validation_split": 1.5}, r"in \(0, 1\)"),
        ({"validation_split": 0.99}, "no example"),
    ],
)
def test_options_that_do_not_fit_are_refused(classifier, texts, labels, options, message):
    with pytest.raises(ValueError, match=message):
        classifier.fit(texts, labels, verbose=0, **options)


@pytest.mark.parametrize("method", ["fit", "predict", "evaluate"])
def test_no_examples_at_all_are_refused(classifier, method):
    arguments = ([],) if method == "predict" else ([], [])
    with pytest.raises(ValueError, match="at least one example"):
        getattr(classifier, method)(*arguments, verbose=0)


class NoBatches(keras.utils.PyDataset):
    def __len__(self):
        return 0

    def __getitem__(self, index):
        raise IndexError(index)


@pytest.mark.parametrize("method", ["fit", "predict", "evaluate"])
@pytest.mark.parametrize("make", [lambda: iter(()), NoBatches], ids=["iterator", "PyDataset"])
def test_an_empty_dataset_is_refused(classifier, method, make):
    with pytest.raises(ValueError, match=r"at least one example.*empty dataset"):
        getattr(classifier, method)(make(), verbose=0)


@pytest.mark.parametrize("method", ["fit", "predict", "evaluate"])
def test_texts_without_a_preprocessor_are_refused(encoder, texts, method):
    model = TextClassifier(encoder, num_classes=2)
    arguments = (texts,) if method == "predict" else (texts, [0] * 7)
    with pytest.raises(ValueError, match="preprocessor"):
        getattr(model, method)(*arguments, verbose=0)
    with pytest.raises(ValueError, match="preprocessor"):
        model.classify(texts)


@pytest.mark.parametrize("x", [["jazz", None], ["jazz", 3], (["a"], ["b"])], ids=repr)
def test_what_is_no_text_is_refused(classifier, x):
    with pytest.raises(TypeError, match="Received"):
        classifier.predict(x, verbose=0)


# Labels that nothing can be learned from


@pytest.mark.parametrize(
    ("kind", "y", "message"),
    [
        ("single label", ["music"] * 7, "All examples are of one class. 1 of 2.*: 'alarm'. Give"),
        (
            "numbered",
            [0, 1, 0, 1, 0, 1, 0],
            "1 of 3 classes have no example to learn from: 2. Give",
        ),
        ("multi-label", [["a"], ["a", "c"]] * 3 + [[]], "1 of 3 .*: 'b'. Give"),
        ("regression", [3.5] * 7, "values to be learned are the same: 3.5"),
    ],
)
def test_classes_without_examples_are_reported_in_training_only(
    config, preprocessor, texts, kind, y, message
):
    model = TextClassifier(Encoder(config), preprocessor=preprocessor, **KINDS[kind])
    with pytest.warns(UserWarning, match=message) as record:
        model.fit(texts, y, verbose=0)
    files = {item.filename for item in record if item.category is UserWarning}
    assert files == {__file__}
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        model.evaluate(texts, y, verbose=0)


def test_a_label_that_only_validation_has_is_reported(config, preprocessor, texts, labels):
    model = TextClassifier(
        Encoder(config), labels=["alarm", "music", "news"], preprocessor=preprocessor
    )
    with pytest.warns(UserWarning, match="no example to learn from: 'news'"):
        model.fit(texts, labels, validation_data=(["what is new"], ["news"]), verbose=0)


# Reported elsewhere, by other libraries' users


def test_a_second_text_needs_no_segment_of_its_own(config, preprocessor, texts):
    """transformers#1538: an encoder with one segment, and pairs whose second text has id 1."""
    model = TextClassifier(
        Encoder(config.replace(num_segments=1), family="roberta"),
        num_classes=2,
        preprocessor=preprocessor,
    )
    inputs = preprocessor({"text": texts, "text_pair": texts[::-1]})
    assert inputs["segment_ids"].max() == 1
    expected = model.predict({**inputs, "segment_ids": inputs["segment_ids"] * 0}, verbose=0)
    np.testing.assert_allclose(model.predict(inputs, verbose=0), expected, atol=1e-6)


def test_it_is_part_of_a_functional_model_that_trains(config, preprocessor, texts):
    """keras-io#324: models that do not take symbolic inputs."""
    classifier = TextClassifier(Encoder(config), num_classes=3)
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("token_ids", "segment_ids", "padding_mask")
    }
    model = keras.Model(inputs, keras.layers.Dense(2)(classifier(inputs)))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = ops.convert_to_numpy(classifier.head.dense_output.kernel).copy()
    model.fit(preprocessor(texts), np.arange(7) % 2, verbose=0)
    assert np.abs(ops.convert_to_numpy(classifier.head.dense_output.kernel) - before).max() > 0


def test_the_same_batch_serves_an_encoder_without_segments(config, preprocessor, texts):
    """transformers#2702: DistilBERT and the segment ids that its tokenizer gives."""
    encoder = Encoder(config.replace(num_segments=0, pooler=None), family="distilbert")
    model = TextClassifier(encoder, num_classes=2)
    batch = preprocessor(texts)
    expected = model.predict({n: batch[n] for n in ("token_ids", "padding_mask")}, verbose=0)
    np.testing.assert_array_equal(model.predict(batch, verbose=0), expected)
    np.testing.assert_allclose(ops.convert_to_numpy(model(batch)), expected, atol=1e-6)


def test_logits_depend_neither_on_the_batch_nor_on_its_padding(classifier, preprocessor, texts):
    """transformers#24257: one text alone gives other logits than in a batch."""
    together = classifier.predict(texts, verbose=0)
    examples = preprocessor.tokenize(texts)
    for index in range(len(texts)):
        shortest = int(examples.lengths[index])
        for width in (shortest, shortest + 1, 32):
            alone = classifier.predict_on_batch(examples.batch([index], width))
            np.testing.assert_allclose(alone[0], together[index], atol=1e-5, rtol=0)


CLASSIFY = """
    import json
    import kerasbert

    texts = json.loads(open("texts.json").read())
    found = {
        kind: kerasbert.TextClassifier.from_preset(kind).classify(texts)
        for kind in json.loads(open("kinds.json").read())
    }
    print(json.dumps(found))
"""


def test_every_kind_answers_the_same_in_a_fresh_process_on_every_backend(
    config, preprocessor, texts, run_fresh, other_backends, tmp_path
):
    """keras-io#400: a model that was saved and loaded predicts at random."""
    expected = {}
    for kind, arguments in KINDS.items():
        model = TextClassifier(Encoder(config), preprocessor=preprocessor, **arguments)
        model.save_to_preset(tmp_path / kind)
        expected[kind] = model.classify(texts)
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    (tmp_path / "kinds.json").write_text(json.dumps(list(KINDS)))
    for backend in (keras.backend.backend(), *other_backends):
        found = json.loads(run_fresh(CLASSIFY, backend, tmp_path).splitlines()[-1])
        for kind in KINDS:
            for answer, right in zip(found[kind], expected[kind], strict=True):
                assert answer == [
                    {"label": item["label"], "score": pytest.approx(item["score"], abs=1e-5)}
                    for item in right
                ]


def test_a_model_that_is_not_compiled_predicts(encoder, preprocessor, texts):
    model = TextClassifier(encoder, num_classes=2, preprocessor=preprocessor, compile=False)
    assert model.predict(texts, verbose=0).shape == (7, 2)


def test_an_own_dataset_of_one_text_trains(config):
    tokenizer = Tokenizer.train(["hello there"], vocabulary_size=40)
    model = TextClassifier(
        Encoder(config),
        labels=["yes", "no"],
        preprocessor=TextClassifierPreprocessor(tokenizer, sequence_length=16),
    )
    before = model.get_weights()[0].copy()
    model.fit(["hello there"], ["yes"], verbose=0)
    assert np.abs(model.get_weights()[0] - before).max() > 0
