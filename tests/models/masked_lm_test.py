"""MaskedLM: where it is read, that its output embedding is its input's, and training on texts."""

import keras
import numpy as np
import pytest
import tokenizers
from keras import ops

import kerasbert

IDS = np.array([[3, 4, 5, 6], [7, 8, 0, 0]], "int32")
BATCH = {"token_ids": IDS, "segment_ids": IDS * 0, "padding_mask": (IDS > 0).astype("int32")}


@pytest.fixture(scope="module")
def model():
    config = kerasbert.EncoderConfig(
        vocabulary_size=11, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=9
    )
    return kerasbert.MaskedLM(kerasbert.Encoder(config))


def test_with_positions_only_these_are_computed(model):
    positions = np.array([[2, 0], [1, 1]], "int32")
    everywhere = ops.convert_to_numpy(model(BATCH))
    there = ops.convert_to_numpy(model({**BATCH, "mask_positions": positions}))
    assert everywhere.shape == (2, 4, 11)
    np.testing.assert_allclose(
        there, np.take_along_axis(everywhere, positions[..., None], axis=1), atol=1e-5
    )
    predicted = model.predict({**BATCH, "mask_positions": positions}, verbose=0)
    np.testing.assert_allclose(predicted, there, atol=1e-5)


def test_the_output_embedding_is_the_token_embedding(model):
    before = ops.convert_to_numpy(model(BATCH))
    table = model.backbone.token_embedding.embeddings
    old = ops.convert_to_numpy(table)
    new = old.copy()
    new[9] *= 3  # a token that stands nowhere in the batch
    table.assign(new)
    after = ops.convert_to_numpy(model(BATCH))
    table.assign(old)
    others = [token for token in range(11) if token != 9]
    np.testing.assert_allclose(after[..., others], before[..., others], atol=1e-6)
    assert np.abs(after[..., 9] - before[..., 9]).max() > 1e-3


def test_training_at_positions_changes_the_head_and_the_encoder(model):
    before = [ops.convert_to_numpy(w) for w in model.trainable_weights]
    labels = np.array([[5, -100], [8, 7]])
    positions = np.array([[2, 0], [1, 0]], "int32")
    model.compile(optimizer="sgd")
    model.fit({**BATCH, "mask_positions": positions}, labels, verbose=0)
    after = [ops.convert_to_numpy(w) for w in model.trainable_weights]
    changed = {
        w.path
        for w, a, b in zip(model.trainable_weights, before, after, strict=True)
        if (a != b).any()
    }
    assert {"head/dense/kernel", "head/bias", "embeddings/token/embeddings"} <= changed


# On texts

TEXTS = [f"{name} plays {thing}" for name in ("anna", "otto", "eva") for thing in ("go", "chess")]
# The words of a text are all the same, so that a masked one can be told.
SONGS = [f"{word} {word} {word} {word}" for word in ("la", "tra", "hey", "oh")] * 3


@pytest.fixture(scope="module")
def tokenizer():
    return kerasbert.Tokenizer.train([*TEXTS, *SONGS] * 3, vocabulary_size=80)


@pytest.fixture
def make(tokenizer):
    def build(buckets=(8, 16), rate=0.3, enhanced_decoder=False, **settings):
        config = kerasbert.EncoderConfig(
            vocabulary_size=80,
            num_layers=1,
            num_heads=2,
            hidden_dim=16,
            intermediate_dim=24,
            max_sequence_length=32,
            hidden_dropout=0.0,
            attention_dropout=0.0,
            initializer_range=0.3,
            **({"position": kerasbert.Disentangled(buckets=4)} if enhanced_decoder else {}),
        )
        return kerasbert.MaskedLM(
            kerasbert.Encoder(config),
            preprocessor=kerasbert.MaskedLMPreprocessor(tokenizer, 32, buckets, rate, **settings),
            enhanced_decoder=enhanced_decoder,
        )

    return build


def test_texts_alone_train_and_validate(make):
    model = make()
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=0.02))
    history = model.fit(SONGS, batch_size=5, epochs=15, validation_data=SONGS, verbose=0).history
    names = {"loss", "accuracy", "perplexity"}
    assert set(history) == names | {f"val_{name}" for name in names}
    assert history["loss"][-1] < history["loss"][0] / 2
    assert history["val_accuracy"][-1] > history["val_accuracy"][0]
    assert model.fill_mask("tra tra [MASK] tra", top_k=1)[0]["token"] == "tra"


def test_an_enhanced_mask_decoder_trains_on_texts_and_fills_masks(make):
    model = make(buckets=(), enhanced_decoder=True)
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=0.02))
    history = model.fit(SONGS, batch_size=12, epochs=5, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    best = model.fill_mask("tra [MASK] tra", top_k=3)
    logits = ops.convert_to_numpy(model(model.preprocessor("tra [MASK] tra")))[0, 2]
    assert [each["token_id"] for each in best] == np.argsort(-logits)[:3].tolist()


def test_each_epoch_has_new_masks_and_validation_the_same(make, monkeypatch):
    model = make(seed=3)
    seen = {True: [], False: []}
    original = kerasbert.MaskedLMPreprocessor.mask

    def note(preprocessor, inputs, keys=None, generator=None):
        masked, labels = original(preprocessor, inputs, keys, generator)
        seen[keys is None].append(str(masked["token_ids"]))
        return masked, labels

    monkeypatch.setattr(kerasbert.MaskedLMPreprocessor, "mask", note)
    options = {"epochs": 3, "batch_size": 6, "shuffle": False, "verbose": 0}
    model.fit(TEXTS, validation_data=TEXTS, **options)
    assert min(map(len, seen.values())) >= 3
    assert len(set(seen[True])) == 3
    assert len(set(seen[False])) == 1


def test_evaluation_depends_neither_on_the_batches_nor_on_what_was_trained_before(make):
    model = make(rate=0.2)  # one mask for each text, so that all batches weigh the same
    once = model.evaluate(TEXTS, batch_size=6, verbose=0, return_dict=True)
    model.compile(optimizer=keras.optimizers.SGD(0.0))
    model.fit(TEXTS, verbose=0)
    again = model.evaluate(TEXTS, batch_size=3, verbose=0, return_dict=True)
    assert again == pytest.approx(once, rel=1e-4)
    # A loss is a mean of its batches, of which the last may be smaller.
    again = model.evaluate(TEXTS, batch_size=4, verbose=0, return_dict=True)
    assert {**again, "loss": once["loss"]} == pytest.approx(once, rel=1e-4)


def test_seeds_decide_a_fit_and_further_fits_have_further_masks(make):
    def losses(**settings):
        keras.utils.set_random_seed(1)
        model = make(**settings)
        model.compile(optimizer=keras.optimizers.SGD(0.0))
        return [model.fit(TEXTS, verbose=0).history["loss"][0] for _ in range(2)]

    for settings in ({}, {"seed": 3}):
        first, second = losses(**settings)
        assert first != second
        assert losses(**settings) == [first, second]


def test_loss_and_metrics_are_those_of_the_masked_tokens(make):
    model = make()
    inputs, labels = model.preprocessor.mask(model.preprocessor(TEXTS), keys=range(6))
    logits = ops.convert_to_numpy(model(inputs)).astype("float64")
    log_probabilities = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    rows, columns = np.nonzero(labels >= 0)
    losses = -log_probabilities[rows, columns, labels[rows, columns]]
    right = logits.argmax(-1)[rows, columns] == labels[rows, columns]
    for size in (6, 8):  # without and with rows that fill the batch
        found = model.evaluate(TEXTS, batch_size=size, verbose=0, return_dict=True)
        assert found["loss"] == pytest.approx(losses.mean(), rel=1e-4)
        assert found["accuracy"] == pytest.approx(right.mean())
        assert found["perplexity"] == pytest.approx(np.exp(losses.mean()), rel=1e-3)
    arrays = model.evaluate(inputs, labels, verbose=0, return_dict=True)
    assert arrays["loss"] == pytest.approx(losses.mean(), rel=1e-4)


def test_single_steps_mask_texts_too(make):
    model = make()
    model.compile(optimizer=keras.optimizers.SGD(0.0))
    expected = model.evaluate(TEXTS, verbose=0)[0]
    assert model.test_on_batch(TEXTS)[0] == pytest.approx(expected, rel=1e-4)
    assert np.isfinite(model.train_on_batch(TEXTS)[0])


def test_texts_are_predicted_at_all_their_positions_unmasked(make):
    model = make()
    texts = [*TEXTS, "go " * 12]
    logits = model.predict(texts, batch_size=2, verbose=0)
    assert logits.shape == (7, 16, 80)
    for text, found in zip(texts, logits, strict=True):
        ids = model.preprocessor(text)
        length = ids["padding_mask"].sum()
        expected = ops.convert_to_numpy(model(ids))[0, :length]
        np.testing.assert_allclose(found[:length], expected, atol=1e-4)


def test_pairs_and_a_share_for_validation_train(make):
    model = make()
    pairs = {"text": TEXTS, "text_pair": TEXTS[::-1]}
    history = model.fit(pairs, validation_split=0.34, verbose=0).history
    assert np.isfinite(history["val_loss"]).all()
    history = model.fit(TEXTS, validation_split=0.34, verbose=0).history
    expected = model.evaluate(TEXTS[3:], verbose=0)[0]
    assert history["val_loss"][0] == pytest.approx(expected, rel=1e-4)


def test_weights_of_texts_count(make):
    model = make()
    weights = np.array([1.0, 0, 0, 0, 0, 0])
    found = model.evaluate(TEXTS, sample_weight=weights, verbose=0)[0]
    assert found == pytest.approx(model.evaluate(TEXTS[:1], verbose=0)[0], rel=1e-4)


class Lines:
    """Single texts, as a dataset of lines gives them."""

    def __init__(self, wrap=lambda text: text):
        self.wrap = wrap

    def __iter__(self):
        return map(self.wrap, SONGS)


def tf_lines():
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices(SONGS).batch(4)


@pytest.mark.parametrize(
    "source",
    [Lines, lambda: Lines(lambda text: {"text": text}), tf_lines],
    ids=["lines", "dicts", "tf.data"],
)
def test_datasets_of_texts_train(make, source):
    model = make()
    model.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=0.01))
    history = model.fit(source(), batch_size=4, epochs=6, validation_data=source(), verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    assert len(history.history["val_loss"]) == 6


def test_few_shapes_are_compiled(make, monkeypatch):
    model = make()
    shapes = set()
    original = kerasbert.MaskedLM.call

    def note(self, inputs, *args, **kwargs):
        shapes.add((tuple(inputs["token_ids"].shape), tuple(inputs["mask_positions"].shape)))
        return original(self, inputs, *args, **kwargs)

    monkeypatch.setattr(kerasbert.MaskedLM, "call", note)
    texts = [" ".join(["go"] * (1 + index % 14)) for index in range(40)]
    model.fit(texts, batch_size=8, epochs=2, verbose=0)
    known = {shape for shape in shapes if None not in shape[0]}  # TensorFlow traces (None, None)
    assert known <= {((8, 8), (8, 2)), ((8, 16), (8, 5))}


def test_another_kind_of_preprocessor_serves_as_well(make, tokenizer):
    model = kerasbert.MaskedLM(
        make().backbone, preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer, 32)
    )
    assert np.isfinite(model.fit(TEXTS, verbose=0).history["loss"]).all()
    assert len(model.fill_mask("anna [MASK] go", top_k=2)) == 2


def test_an_archive_and_a_preset_keep_the_preprocessor(make, tmp_path):
    model = make(rate=0.4, seed=7)
    model.fit(TEXTS, verbose=0)
    model.save(tmp_path / "model.keras")
    model.save_to_preset(tmp_path / "preset")
    expected = model.evaluate(TEXTS, verbose=0, return_dict=True)
    for again in (
        keras.saving.load_model(tmp_path / "model.keras"),
        kerasbert.MaskedLM.from_preset(tmp_path / "preset"),
    ):
        assert again.preprocessor.get_config() == model.preprocessor.get_config()
        found = again.evaluate(TEXTS, verbose=0, return_dict=True)
        assert found == pytest.approx(expected, rel=1e-4)


# Bad input


@pytest.mark.parametrize("empty", ["", "  ", "[SEP]"])
def test_a_text_that_cannot_be_masked_is_placed(make, empty):
    with pytest.raises(ValueError, match="1 of 3 without one, the first at position 1"):
        make().fit(["anna", empty, "go"], verbose=0)
    with pytest.raises(ValueError, match="the first at position 0"):
        make().evaluate([empty], verbose=0)


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda m: m.fit([], verbose=0), "at least one example"),
        (lambda m: m.fit(TEXTS, [0] * 6, verbose=0), "masked tokens are the labels"),
        (lambda m: m.fit(m.preprocessor(TEXTS), verbose=0), "Arrays need labels"),
        (lambda m: m.fit(TEXTS, validation_split=0.9, verbose=0), "leaves no example"),
        (lambda m: m.fit(Lines(), validation_split=0.5), "cannot divide a dataset"),
        (lambda m: kerasbert.MaskedLM(m.backbone).fit(TEXTS), "has no preprocessor"),
    ],
)
def test_what_cannot_be_trained_on_is_refused(make, fit, message):
    with pytest.raises(ValueError, match=message):
        fit(make())


def test_a_vocabulary_without_a_mask_token_is_refused(make):
    rust = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({"[PAD]": 0, "[UNK]": 1, "go": 2}, unk_token="[UNK]")
    )
    preprocessor = kerasbert.MaskedLMPreprocessor(kerasbert.Tokenizer(rust), 32)
    model = kerasbert.MaskedLM(make().backbone, preprocessor=preprocessor)
    assert model.predict(["go"], verbose=0).shape[0] == 1
    with pytest.raises(ValueError, match="has no mask token"):
        model.fit(["go"], verbose=0)
    with pytest.raises(ValueError, match="has no mask token"):
        model.fill_mask("go")
    with pytest.raises(ValueError, match="has no mask token"):
        model.score("go")
