"""Training on raw text and on datasets: learning, callbacks, schedules, shapes, NaN."""

import keras
import numpy as np
import pytest

from kerasbert import Encoder, TextClassifier, TextClassifierPreprocessor, tuning
from kerasbert.text import BUCKETS, Examples


@pytest.fixture
def make(config, preprocessor):
    """Build a small classifier; one width for all batches unless `buckets` are given."""
    config = config.replace(num_layers=1, hidden_dropout=0.0, attention_dropout=0.0)

    def build(dtype=None, buckets=(), **arguments):
        return TextClassifier(
            Encoder(config, dtype=dtype),
            preprocessor=TextClassifierPreprocessor(preprocessor.tokenizer, 32, buckets),
            dropout=0.0,
            **(arguments or {"labels": ["alarm", "music"]}),
        )

    return build


class Rates(keras.callbacks.Callback):
    """Notes the learning rate before each step."""

    def __init__(self):
        super().__init__()
        self.rates = []

    def on_train_batch_begin(self, batch, logs=None):
        rate = keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)
        self.rates.append(float(rate))


@pytest.mark.parametrize("dtype", [None, "mixed_bfloat16", "mixed_float16"])
def test_a_few_texts_are_learnt(make, texts, labels, dtype):
    model = make(dtype)
    model.compile(optimizer=tuning.optimizer(learning_rate=0.02))
    history = model.fit(
        texts, labels, batch_size=4, epochs=15, validation_data=(texts, labels), verbose=0
    ).history
    assert set(history) == {"loss", "accuracy", "val_loss", "val_accuracy"}
    assert history["loss"][-1] < history["loss"][0] / 2
    assert history["val_accuracy"][-1] == 1.0
    assert [answer[0]["label"] for answer in model.classify(texts)] == labels
    assert model.predict(texts, verbose=0).dtype == "float32"


def test_the_rate_of_the_default_recipe_spans_the_steps_of_each_fit(make, texts, labels):
    model = make()
    for _ in range(2):
        rates = Rates()
        # 3 batches of 2 and one of 1, 5 epochs: 20 steps, of which 2 warm up
        model.fit(texts, labels, batch_size=2, epochs=5, callbacks=[rates], verbose=0)
        expected = [0, 0.5, *(1 - step / 18 for step in range(18))]
        np.testing.assert_allclose(rates.rates, 2e-5 * np.array(expected), rtol=1e-4, atol=1e-10)


def test_the_schedule_spans_the_fit_behind_the_scaling_of_losses_too(make, texts, labels):
    model = make("mixed_float16")
    rates = Rates()
    model.fit(texts, labels, batch_size=4, epochs=5, callbacks=[rates], verbose=0)
    assert hasattr(model.optimizer, "inner_optimizer")
    assert rates.rates[0] == 0
    # A step whose gradients overflow is not counted, so the last rate need not be the smallest.
    assert 0 < rates.rates[-1] < 2e-5


def test_steps_and_epochs_that_are_given_count_for_the_schedule(make, texts, labels):
    model, rates = make(), Rates()
    model.fit(texts, labels, batch_size=2, epochs=5, initial_epoch=3, callbacks=rates, verbose=0)
    assert len(rates.rates) == 8
    np.testing.assert_allclose(rates.rates[-1], 2e-5 * 1 / 7.2, rtol=1e-4)


def one_step(make, texts, y, **options):
    """Weights after one plain gradient step of size 1, with all examples in one batch."""
    keras.utils.set_random_seed(0)
    model = make()
    model.compile(optimizer=keras.optimizers.SGD(1.0))
    history = model.fit(texts, y, batch_size=7, verbose=0, **options).history
    return model.get_weights(), history


def test_weights_of_classes_are_weights_of_their_examples(make, texts, labels):
    by_example = np.array([3.0 if label == "music" else 1.0 for label in labels])
    expected, history = one_step(make, texts, labels, sample_weight=by_example)
    for class_weight in ({"music": 3.0}, {1: 3.0, "alarm": 1.0}):
        found, other = one_step(make, texts, labels, class_weight=class_weight)
        assert other["loss"] == pytest.approx(history["loss"], rel=1e-5)
        assert other["accuracy"] == history["accuracy"]
        for one, two in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, two, atol=1e-5)
    both, _ = one_step(
        make, texts, labels, class_weight={"music": 3.0}, sample_weight=np.full(7, 0.5)
    )
    half, _ = one_step(make, texts, labels, sample_weight=by_example / 2)
    for one, two in zip(both, half, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


def test_metrics_are_not_weighted(make, texts, labels):
    _, plain = one_step(make, texts, labels)
    _, weighted = one_step(make, texts, labels, class_weight={"music": 100.0})
    assert weighted["accuracy"] == plain["accuracy"]


@pytest.mark.parametrize("sizes", [(7, 10), (4, 4)])
def test_rows_that_fill_a_batch_change_no_step(make, texts, labels, sizes):
    """Seven examples in one batch, or in two, with and without filling rows."""
    states = []
    for fill, size in zip((False, True), sizes, strict=True):
        keras.utils.set_random_seed(0)
        model = make()
        model.compile(optimizer=keras.optimizers.SGD(1.0))
        model._fills_batches = fill
        model.fit(texts, labels, batch_size=size, shuffle=False, verbose=0)
        states.append(model.get_weights())
    for one, two in zip(*states, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5)


def test_a_share_of_the_end_validates(make, texts, labels):
    model = make()
    history = model.fit(texts, labels, validation_split=0.3, verbose=0, batch_size=2).history
    expected = model.evaluate(texts[4:], labels[4:], verbose=0, return_dict=True)
    assert history["val_loss"][0] == pytest.approx(expected["loss"], rel=1e-4)
    pairs = {"text": texts, "text_pair": texts}
    history = model.fit(pairs, labels, validation_split=0.3, verbose=0, batch_size=2).history
    expected = model.evaluate(
        {"text": texts[4:], "text_pair": texts[4:]}, labels[4:], verbose=0, return_dict=True
    )
    assert history["val_loss"][0] == pytest.approx(expected["loss"], rel=1e-4)


def test_weights_of_validation_data_count(make, texts, labels):
    model = make()
    weights = np.linspace(0.0, 2.0, 7)
    history = model.fit(texts, labels, validation_data=(texts, labels, weights), verbose=0).history
    expected = model.evaluate(texts, labels, sample_weight=weights, verbose=0, return_dict=True)
    assert history["val_loss"][0] == pytest.approx(expected["loss"], rel=1e-4)


def test_callbacks_stop_training_and_put_weights_back(make, texts, labels):
    model = make()
    model.compile(optimizer=keras.optimizers.SGD(-1.0))  # uphill: every epoch is worse
    stopping = keras.callbacks.EarlyStopping(patience=1, restore_best_weights=True)
    history = model.fit(
        texts, labels, epochs=9, validation_data=(texts, labels), callbacks=[stopping], verbose=0
    ).history
    assert len(history["loss"]) == 2
    found = model.evaluate(texts, labels, verbose=0, return_dict=True)["loss"]
    assert found == pytest.approx(history["val_loss"][0], rel=1e-4)


def test_many_lengths_need_few_compiled_functions(make, monkeypatch):
    model = make(buckets=(8, 16))
    texts = [" ".join(["jazz"] * (1 + index % 14)) for index in range(50)]
    shapes = set()
    original = TextClassifier.call

    def note(self, inputs, *args, **kwargs):
        shapes.add(tuple(inputs["token_ids"].shape))
        return original(self, inputs, *args, **kwargs)

    monkeypatch.setattr(TextClassifier, "call", note)
    model.predict(texts, batch_size=8, verbose=0)
    known = {shape for shape in shapes if None not in shape}  # TensorFlow traces (None, None) too
    assert known <= {(8, 8), (8, 16), (8, 32)}


@pytest.mark.parametrize("method", ["fit", "predict"])
def test_batches_are_as_narrow_as_the_backend_lets_them(make, monkeypatch, method):
    """JAX compiles for each shape, and keeps to the buckets."""
    model = make(buckets=BUCKETS)
    texts = [" ".join(["jazz"] * (3 + index % 8)) for index in range(40)]
    widths = set()
    original = Examples.batch

    def note(self, *args):
        batch = original(self, *args)
        widths.add(batch["token_ids"].shape[1])
        return batch

    monkeypatch.setattr(Examples, "batch", note)
    if method == "fit":
        model.fit(texts, [0, 1] * 20, batch_size=4, verbose=0)
    else:
        model.predict(texts, batch_size=4, verbose=0)
    assert widths == ({16, 32} if keras.backend.backend() == "jax" else {16, 24, 32})


# NaN


class Poison(keras.callbacks.Callback):
    """Makes the weights NaN at the end of a given epoch's first batch."""

    def __init__(self, epoch):
        super().__init__()
        self.at, self.epoch = epoch, 0
        self.good = None

    def on_epoch_begin(self, epoch, logs=None):
        self.epoch = epoch
        if epoch == self.at:
            self.good = [np.array(weight) for weight in self.model.get_weights()]

    def on_train_batch_end(self, batch, logs=None):
        if self.epoch == self.at and batch == 0:
            variable = self.model.trainable_variables[0]
            variable.assign(keras.ops.full(variable.shape, float("nan"), dtype=variable.dtype))


@pytest.mark.parametrize(("epoch", "since"), [(0, "before training"), (2, "epoch 2")])
def test_a_nan_stops_training_and_the_best_weights_come_back(make, texts, labels, epoch, since):
    model = make()
    model.compile(optimizer=keras.optimizers.SGD(0.01))
    poison = Poison(epoch)
    with pytest.raises(FloatingPointError, match=f"{since} were put back"):
        model.fit(
            texts, labels, batch_size=4, epochs=4, shuffle=False, callbacks=[poison], verbose=0
        )
    for found, expected in zip(model.get_weights(), poison.good, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert np.isfinite(model.predict(texts, verbose=0)).all()
    # It can go on.
    model.fit(texts, labels, batch_size=4, verbose=0)


def test_weights_that_turn_nan_in_the_very_last_step_do_not_pass_for_the_best(make, texts, labels):
    model = make()
    model.compile(optimizer=keras.optimizers.SGD(float("nan")))
    with pytest.raises(FloatingPointError):
        model.fit(texts, labels, batch_size=7, epochs=1, verbose=0)
    assert np.isfinite(model.predict(texts, verbose=0)).all()


# Tensors and datasets of ready batches


class ReadyBatches(keras.utils.PyDataset):
    def __init__(self, preprocessor, texts, indices):
        super().__init__()
        self.batches = [
            (preprocessor(texts[at : at + 2]), np.array(indices[at : at + 2])) for at in (0, 2, 4)
        ]

    def __len__(self):
        return 3

    def __getitem__(self, index):
        return self.batches[index]


def as_generator(ready):
    while True:
        yield from ready.batches


def as_tf_dataset(ready):
    tf = pytest.importorskip("tensorflow")
    return tf.data.Dataset.from_generator(
        lambda: iter(ready.batches),
        output_signature=(
            {name: tf.TensorSpec((None, None), "int32") for name in ready.batches[0][0]},
            tf.TensorSpec((None,), "int64"),
        ),
    )


@pytest.mark.parametrize("kind", ["PyDataset", "generator", "tf.data"])
def test_datasets_of_ready_batches_train(make, preprocessor, texts, kind):
    model = make(num_classes=2)
    ready = ReadyBatches(preprocessor, texts, [0, 1] * 3)
    made = {"PyDataset": lambda: ready, "generator": lambda: as_generator(ready)}
    data = {**made, "tf.data": lambda: as_tf_dataset(ready)}[kind]()
    options = {"steps_per_epoch": 3} if kind == "generator" else {}
    history = model.fit(data, epochs=2, verbose=0, validation_data=ready, **options).history
    assert len(history["val_loss"]) == 2
    expected = model.evaluate(texts[:6], [0, 1] * 3, verbose=0, return_dict=True)
    found = model.evaluate(ready, verbose=0, return_dict=True)
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-4)


def test_tensors_train_and_a_key_that_is_not_used_does_no_harm(make, preprocessor, texts, labels):
    model = make()
    inputs = {"aaa": np.ones((7, 3), "int32"), **preprocessor(texts)}
    history = model.fit(inputs, labels, batch_size=4, epochs=2, verbose=0).history
    assert np.isfinite(history["loss"]).all()
    np.testing.assert_allclose(
        model.predict(inputs, batch_size=4, verbose=0), model.predict(texts, verbose=0), atol=1e-5
    )


def test_a_dataset_cannot_have_labels_beside_it(make, preprocessor, texts):
    ready = ReadyBatches(preprocessor, texts, [0, 1] * 3)
    with pytest.raises(ValueError, match="holds its labels"):
        make().fit(ready, [0, 1] * 3)
    with pytest.raises(ValueError, match="validation_split"):
        make().fit(ready, validation_split=0.5)
