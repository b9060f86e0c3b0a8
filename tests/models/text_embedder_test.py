"""Embedders: vectors of texts, losses of pairs with and without scores, what is refused."""

import json

import keras
import numpy as np
import pytest
from keras import ops
from sklearn.metrics.pairwise import cosine_similarity

import kerasbert
from kerasbert import Encoder, TextClassifier, TextEmbedder, TextEmbedderPreprocessor
from kerasbert.models.pairs import unit_length

PAIRS = {
    "text": [
        "wake me at seven",
        "play some jazz",
        "some music",
        "an alarm",
        "",
        "set it",
        "a song",
    ],
    "text_pair": ["set the alarm", "put on music", "play", "wake me up early", "x", "me", "jazz"],
}
SCORES = np.array([1.0, 0.8, 0.6, -1.0, 0.0, 0.25, 0.5])


@pytest.fixture(scope="module")
def encoder(config):
    return Encoder(config)


@pytest.fixture(scope="module")
def embedder_preprocessor(preprocessor):
    return TextEmbedderPreprocessor(preprocessor.tokenizer, sequence_length=32, buckets=(8, 16))


@pytest.fixture(scope="module")
def embedder(encoder, embedder_preprocessor):
    return TextEmbedder(encoder, embedder_preprocessor)


@pytest.fixture
def make(config, embedder_preprocessor):
    """A new embedder without dropout."""

    def build(**arguments):
        plain = Encoder(config.replace(hidden_dropout=0.0, attention_dropout=0.0))
        return TextEmbedder(plain, embedder_preprocessor, **arguments)

    return build


def unit(x):
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def numpy(x):
    return ops.convert_to_numpy(x)


# What goes in and what comes out


@pytest.mark.parametrize("pooling", ["cls", "mean", "max"])
def test_pooling_is_over_the_states_of_real_tokens(encoder, batch, pooling):
    found = TextEmbedder(encoder, pooling=pooling)(batch)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    states = numpy(encoder(batch)["sequence_output"])
    masks = batch["padding_mask"].astype(bool)
    pooled = {
        "cls": states[:, 0],
        "mean": [state[mask].mean(0) for state, mask in zip(states, masks, strict=True)],
        "max": [state[mask].max(0) for state, mask in zip(states, masks, strict=True)],
    }
    np.testing.assert_allclose(numpy(found), np.stack(pooled[pooling]), atol=1e-5)


def test_the_last_four_layers_stand_side_by_side(config, batch):
    encoder = Encoder(config.replace(num_layers=5))
    found = numpy(TextEmbedder(encoder, pooling="last_four")(batch))
    with kerasbert.trace("hidden_states") as record:
        encoder(batch)
    states = np.concatenate([numpy(layer) for layer in record["hidden_states"][-4:]], axis=-1)
    expected = [states[0].mean(0), states[1, :3].mean(0)]
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_a_projection_and_unit_length_follow_the_pooling(encoder, batch):
    embedder = TextEmbedder(encoder, normalize=True, projection_dim=5, projection_activation="relu")
    kernel, bias = (numpy(each) for each in (embedder.projection.kernel, embedder.projection.bias))
    pooled = numpy(TextEmbedder(encoder)(batch))
    expected = unit(np.maximum(pooled @ kernel + bias, 0))
    np.testing.assert_allclose(numpy(embedder(batch)), expected, atol=1e-5)


def test_vectors_without_length_stay_zero():
    found = unit_length(ops.convert_to_tensor(np.array([[0, 0], [3, 4]], "float32")))
    np.testing.assert_allclose(numpy(found), [[0, 0], [0.6, 0.8]], rtol=1e-6)


def test_embeddings_keep_the_order_and_do_not_depend_on_the_batch(embedder, texts):
    many = [" ".join(texts[index % 7 : index % 7 + 1 + index % 2]) for index in range(17)]
    found = embedder.embed(many, normalize=False, batch_size=4)
    assert found.shape == (17, 8)
    assert found.dtype == np.float32
    one_by_one = [embedder.embed(text, normalize=False) for text in many]
    np.testing.assert_allclose(found, np.concatenate(one_by_one), atol=1e-5)
    np.testing.assert_allclose(embedder.embed(many), unit(found), atol=1e-6)
    assert embedder.embed([]).shape == (0, 8)


def test_the_texts_of_pairs_are_encoded_apart(embedder, embedder_preprocessor):
    expected = [embedder.predict(PAIRS[name], verbose=0) for name in ("text", "text_pair")]
    expected = np.stack(expected, axis=1)
    arrays = embedder_preprocessor(PAIRS)
    assert arrays["token_ids"].shape == (7, 2, 16)
    for found in (
        embedder.predict(PAIRS, batch_size=3, verbose=0),
        embedder.predict(arrays, verbose=0),
        embedder.predict_on_batch(PAIRS),
        numpy(embedder(arrays)),
    ):
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_similarity_is_the_cosine_of_all_pairs(embedder, texts):
    vectors = embedder.embed(texts, normalize=False)
    expected = cosine_similarity(vectors, vectors[:3])
    for a, b in ((texts, texts[:3]), (vectors, texts[:3]), (texts, vectors[:3] * 7)):
        np.testing.assert_allclose(embedder.similarity(a, b), expected, atol=1e-5)


def test_it_is_part_of_a_functional_model(embedder, batch):
    inputs = {
        name: keras.Input((None,), dtype="int32", name=name)
        for name in ("token_ids", "segment_ids", "padding_mask")
    }
    model = keras.Model(inputs, keras.layers.Dense(3)(embedder(inputs)))
    assert model.predict(batch, verbose=0).shape == (2, 3)


# Losses and metrics of pairs


def ranking_losses(embeddings, scale=20.0):
    """Cross entropy of each row's own partner among all second texts, by its definition."""
    scores = scale * unit(embeddings[:, 0]) @ unit(embeddings[:, 1]).T
    return np.log(np.exp(scores).sum(1)) - np.diag(scores)


def test_with_scores_loss_and_metrics_are_of_the_cosines(embedder):
    """Seven pairs in batches of four: the last batch is filled."""
    embeddings = embedder.predict(PAIRS, verbose=0)
    cosines = (unit(embeddings[:, 0]) * unit(embeddings[:, 1])).sum(-1)
    found = embedder.evaluate(PAIRS, SCORES, batch_size=4, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(np.mean((cosines - SCORES) ** 2), rel=1e-4)
    assert found["pearson"] == pytest.approx(np.corrcoef(cosines, SCORES)[0, 1], rel=1e-3)
    weights = np.linspace(0.2, 2.0, 7)
    found = embedder.evaluate(
        PAIRS, SCORES, batch_size=4, sample_weight=weights, verbose=0, return_dict=True
    )
    assert found["loss"] == pytest.approx(np.mean(weights * (cosines - SCORES) ** 2), rel=1e-4)


def test_without_scores_partners_are_sought_among_the_batch(make):
    """Seven pairs of equal length in batches of four: the rows that fill the last take no part."""
    pairs = {
        "text": ["wake me", "play jazz", "some music", "the alarm", "set me", "a song", "put on"],
        "text_pair": ["alarm", "jazz", "song", "wake", "seven", "music", "noon"],
    }
    embedder = make(scale=7.0)
    lengths = embedder.preprocessor.tokenize(pairs).lengths
    order = np.argsort(lengths, kind="stable")
    embeddings = embedder.predict(pairs, verbose=0)[order]
    losses = [ranking_losses(part, scale=7.0) for part in (embeddings[:4], embeddings[4:])]
    found = embedder.evaluate(pairs, batch_size=4, verbose=0, return_dict=True)
    assert found == {"loss": pytest.approx(np.concatenate(losses).mean(), rel=1e-4)}


@pytest.mark.parametrize("y", [None, SCORES[:3]], ids=["ranking", "scores"])
def test_rows_that_fill_a_batch_do_not_change_a_training_step(make, y):
    pairs = {name: column[:3] for name, column in PAIRS.items()}
    filled, whole = make(), make()
    whole.set_weights(filled.get_weights())
    for embedder in (filled, whole):
        embedder.compile(optimizer=keras.optimizers.SGD(0.5))
    filled.fit(pairs, y, batch_size=8, verbose=0)
    whole.train_on_batch(pairs, y)
    before = make().backbone.weights
    assert len(before) == len(filled.backbone.weights)
    for one, other in zip(filled.weights, whole.weights, strict=True):
        np.testing.assert_allclose(numpy(one), numpy(other), atol=1e-5)


def test_a_pair_of_weight_zero_is_no_negative_either(make):
    embedder = make()
    weights = np.array([1, 1, 0, 1, 1, 1, 1], "float32")
    kept = {name: column[:2] + column[3:] for name, column in PAIRS.items()}
    found = embedder.test_on_batch(PAIRS, sample_weight=weights, return_dict=True)["loss"]
    expected = embedder.test_on_batch(kept, return_dict=True)["loss"]
    assert found == pytest.approx(expected * 6 / 7, rel=1e-5)


@pytest.mark.parametrize("pooling", ["mean", "cls", "max", "last_four"])
def test_training_brings_partners_together_and_changes_every_weight(make, config, pooling):
    embedder = (
        make(pooling=pooling, projection_dim=6, normalize=True)
        if (pooling != "last_four")
        else TextEmbedder(
            Encoder(config.replace(num_layers=3)), make().preprocessor, pooling=pooling
        )
    )
    embedder.compile(optimizer=keras.optimizers.Adam(0.01))
    before = {v.path: numpy(v).copy() for v in embedder.trainable_variables}
    history = embedder.fit(PAIRS, epochs=12, batch_size=7, verbose=0).history
    assert history["loss"][-1] < 0.8 * history["loss"][0]
    after = {v.path: numpy(v) for v in embedder.trainable_variables}
    same = [path for path in before if np.array_equal(before[path], after[path])]
    assert [path for path in same if not path.endswith("key/bias")] == []


def test_pairs_with_and_without_scores_train_the_same_model(make):
    embedder = make()
    first = embedder.fit(PAIRS, batch_size=4, verbose=0, validation_data=PAIRS).history
    assert set(first) == {"loss", "val_loss"}
    second = embedder.fit(
        PAIRS, SCORES, batch_size=4, verbose=0, validation_data=(PAIRS, SCORES)
    ).history
    assert set(second) == {"loss", "pearson", "val_loss", "val_pearson"}
    third = embedder.fit(PAIRS, batch_size=4, verbose=0, validation_split=0.3).history
    assert set(third) == {"loss", "val_loss"}
    assert all(
        np.isfinite(value) for history in (first, second, third) for value in history["loss"]
    )


def test_a_stream_of_pairs_trains(make):
    rows = [
        {"text": text, "text_pair": pair, "label": score}
        for text, pair, score in zip(*PAIRS.values(), SCORES, strict=True)
    ]
    unlabelled = [{name: row[name] for name in PAIRS} for row in rows]
    embedder = make()
    expected = embedder.evaluate(PAIRS, SCORES, batch_size=7, verbose=0, return_dict=True)
    found = embedder.evaluate(iter(rows), batch_size=7, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-4)
    expected = embedder.evaluate(PAIRS, batch_size=7, verbose=0)
    found = embedder.evaluate(iter(unlabelled), batch_size=7, verbose=0)
    assert found == pytest.approx(expected, rel=1e-4)


def test_half_precision_gives_float32_and_trains(config, embedder_preprocessor):
    embedder = TextEmbedder(Encoder(config, dtype="mixed_float16"), embedder_preprocessor)
    assert np.isfinite(embedder.fit(PAIRS, batch_size=4, verbose=0).history["loss"]).all()
    assert embedder.embed(["play"]).dtype == np.float32


# Saving


def test_an_embedder_without_a_projection_survives_its_preset(make, tmp_path):
    embedder = make(pooling="cls")
    embedder.save_to_preset(tmp_path)
    again = TextEmbedder.from_preset(tmp_path)
    assert again.get_config() == embedder.get_config()
    np.testing.assert_array_equal(again.embed(["play"]), embedder.embed(["play"]))


@pytest.mark.parametrize("projection_dim", [None, 6])
def test_a_quantized_embedder_survives_its_preset(make, projection_dim, tmp_path):
    embedder = make(projection_dim=projection_dim)
    embedder.quantize("int8")
    embedder.save_to_preset(tmp_path)
    again = TextEmbedder.from_preset(tmp_path)
    np.testing.assert_array_equal(again.embed(PAIRS["text"]), embedder.embed(PAIRS["text"]))


def test_archives_and_presets_serve_a_fresh_process_on_every_backend(
    make, run_fresh, other_backends, tmp_path
):
    embedder = make(pooling="max", normalize=True, projection_dim=3, scale=5.0)
    embedder.fit(PAIRS, epochs=2, batch_size=4, verbose=0)
    expected = embedder.embed(PAIRS["text"], normalize=False)
    embedder.save_to_preset(tmp_path / "preset")
    embedder.save(tmp_path / "model.keras")
    (tmp_path / "texts.json").write_text(json.dumps(PAIRS["text"]))
    source = """
        import json
        import keras
        import numpy as np
        import kerasbert

        texts = json.loads(open("texts.json").read())
        preset = kerasbert.TextEmbedder.from_preset("preset")
        archive = keras.saving.load_model("model.keras")
        assert preset.get_config() == archive.get_config()
        found = [each.embed(texts, normalize=False) for each in (preset, archive)]
        np.save("found.npy", found)
    """
    for backend in (keras.backend.backend(), *other_backends):
        run_fresh(source, backend, tmp_path)
        for found in np.load(tmp_path / "found.npy"):
            np.testing.assert_allclose(found, expected, atol=2e-5, err_msg=backend)


def test_another_projection_than_the_saved_one_is_new_with_a_warning(make, tmp_path):
    make(projection_dim=3).save_to_preset(tmp_path)
    with pytest.warns(UserWarning, match="head is new"):
        again = TextEmbedder.from_preset(tmp_path, projection_dim=4)
    assert again.embed(["play"]).shape == (1, 4)


def test_a_classifiers_preset_gives_its_encoder(config, preprocessor, tmp_path):
    classifier = TextClassifier(Encoder(config), num_classes=2, preprocessor=preprocessor)
    classifier.save_to_preset(tmp_path)
    with pytest.warns(UserWarning, match="holds a `TextClassifier`"):
        embedder = TextEmbedder.from_preset(tmp_path)
    batch = preprocessor(["play"])
    np.testing.assert_allclose(
        numpy(embedder(batch)), numpy(TextEmbedder(classifier.backbone)(batch)), atol=1e-6
    )


# A pooler that is not read


def test_a_pooler_is_trained_by_the_tasks_that_read_it(config):
    encoder = Encoder(config)
    TextEmbedder(encoder)
    assert not encoder.get_layer("pooler").trainable
    TextClassifier(encoder, num_classes=2)
    assert encoder.get_layer("pooler").trainable
    encoder.get_layer("pooler").trainable = False  # by its user
    TextEmbedder(encoder)
    TextClassifier(encoder, num_classes=2)
    assert not encoder.get_layer("pooler").trainable


# What is refused


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pooling": "sum"}, "pooling='sum'"),
        ({"projection_activation": "cube"}, "projection_activation='cube'"),
        ({"scale": 0}, "scale=0"),
        ({"projection_dim": 0}, "projection_dim=0"),
        ({"pooling": "last_four"}, "at least three layers.*one of 2"),
    ],
)
def test_wrong_arguments_are_refused(encoder, arguments, message):
    with pytest.raises(ValueError, match=message):
        TextEmbedder(encoder, **arguments)


@pytest.mark.parametrize("method", ["fit", "evaluate"])
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (PAIRS, SCORES * 5, "divide scores from 0 to 5 by 5.*5.0 at position 0"),
        (PAIRS, [*SCORES[:6], float("nan")], "nan at position 6"),
        (PAIRS, ["high"] * 7, "must be numbers"),
        (PAIRS, SCORES[:5], "7 in x, 5 in y"),
        (PAIRS["text"], SCORES, "pairs of texts"),
        (PAIRS["text"], None, "pairs of texts"),
        ({"text": [], "text_pair": []}, None, "at least one example"),
        ({"text": ["a", "b"], "text_pair": ["c"]}, None, "2 and 1 texts"),
    ],
)
def test_pairs_and_scores_that_do_not_fit_are_refused(embedder, method, x, y, message):
    with pytest.raises(ValueError, match=message):
        getattr(embedder, method)(x, y, verbose=0)


def test_class_weights_are_refused(embedder):
    with pytest.raises(ValueError, match="`sample_weight` instead"):
        embedder.fit(PAIRS, SCORES, class_weight={0: 1.0}, verbose=0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda e: e.embed(PAIRS), TypeError, "each on its own"),
        (lambda e: e.embed([1, 2]), TypeError, "takes texts"),
        (lambda e: e.similarity(np.zeros(3), ["a"]), ValueError, r"\(n, dim\).*\(3,\)"),
        (lambda e: e.similarity(np.zeros((2, 3)), ["a"]), ValueError, "same dimension"),
        (lambda e: e.export_to_transformers("."), ValueError, "pooling='last_four'"),
    ],
)
def test_what_cannot_be_embedded_is_refused(config, preprocessor, call, error, message):
    embedder = TextEmbedder(
        Encoder(config.replace(num_layers=3)),
        TextEmbedderPreprocessor(preprocessor.tokenizer, sequence_length=32),
        pooling="last_four",
    )
    with pytest.raises(error, match=message):
        call(embedder)


@pytest.mark.parametrize("x", [["jazz"], PAIRS], ids=["texts", "pairs"])
def test_texts_without_a_preprocessor_are_refused(encoder, x):
    model = TextEmbedder(encoder)
    for method in (model.embed, model.predict, model.fit):
        with pytest.raises((TypeError, ValueError), match="preprocessor"):
            method(x)
