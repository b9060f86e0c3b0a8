"""Scores of any kind decide when to stop and which weights to keep."""

import keras
import numpy as np
import pytest
from sklearn.metrics import f1_score

from kerasbert import Encoder, EncoderConfig, TextClassifier, tuning

CONFIG = EncoderConfig(
    vocabulary_size=20,
    num_layers=1,
    num_heads=2,
    hidden_dim=8,
    intermediate_dim=12,
    initializer_range=0.3,
)
IDS = np.random.default_rng(0).integers(1, 20, (8, 6))
BATCH = {"token_ids": IDS, "segment_ids": IDS * 0, "padding_mask": IDS * 0 + 1}
LABELS = np.arange(8) % 2


@pytest.fixture
def model():
    model = TextClassifier(Encoder(CONFIG), num_classes=2)
    model.compile(optimizer=keras.optimizers.SGD(0.1))
    return model


def fit(model, *callbacks, epochs=4, **options):
    return model.fit(
        BATCH, LABELS, batch_size=4, epochs=epochs, callbacks=[*callbacks], verbose=0, **options
    ).history


class WeightsOfEpochs(keras.callbacks.Callback):
    def __init__(self):
        super().__init__()
        self._found = []

    def on_epoch_end(self, epoch, logs=None):
        self._found.append([np.array(weight) for weight in self.model.get_weights()])

    def __getitem__(self, epoch):
        return self._found[epoch]


def scores_in_turn(*values):
    given = iter(values)
    return tuning.EpochScores(lambda model: {"score": next(given)})


def assert_equal_weights(model, expected):
    for found, weight in zip(model.get_weights(), expected, strict=True):
        np.testing.assert_array_equal(found, weight)


def test_scores_are_those_of_the_model_as_it_is_after_each_epoch(model):
    weights = WeightsOfEpochs()

    def f1(model):
        predicted = model.predict(BATCH, verbose=0).argmax(-1)
        return {"f1": f1_score(LABELS, predicted, average="macro"), "count": np.int64(8)}

    history = fit(model, tuning.EpochScores(f1), weights, epochs=2)
    for epoch in range(2):
        model.set_weights(weights[epoch])
        assert history["val_f1"][epoch] == f1(model)["f1"]
    assert history["val_count"] == [8, 8]


def test_scores_and_validation_leave_the_training_as_it_is_without():
    def trained(*callbacks, **options):
        keras.utils.set_random_seed(1)
        model = TextClassifier(Encoder(CONFIG.replace(hidden_dropout=0.3)), num_classes=2)
        model.compile(optimizer=keras.optimizers.SGD(0.1))
        fit(model, *callbacks, **options)
        return model.get_weights()

    scores = tuning.EpochScores(lambda model: {"score": model.predict(BATCH, verbose=0).sum()})
    found = trained(scores, validation_data=(BATCH, LABELS))
    for one, other in zip(found, trained(), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("scores_first", [True, False])
def test_any_score_stops_training_wherever_it_stands(model, scores_first):
    weights = WeightsOfEpochs()
    scores = scores_in_turn(0.1, 0.7, 0.6, 0.5, 0.9)
    stopping = keras.callbacks.EarlyStopping(
        "val_score", mode="max", patience=2, restore_best_weights=True
    )
    order = [scores, weights, stopping] if scores_first else [stopping, weights, scores]
    history = fit(model, *order, epochs=9)
    assert history["val_score"] == [0.1, 0.7, 0.6, 0.5]
    assert_equal_weights(model, weights[1])


def test_the_best_weights_come_back_at_the_end(model):
    weights = WeightsOfEpochs()
    best = tuning.KeepBest("val_score", mode="max")
    history = fit(model, best, weights, scores_in_turn(0.1, 0.7, 0.6, 0.5))
    assert len(history["loss"]) == 4
    assert_equal_weights(model, weights[1])


def test_the_mode_of_losses_is_known(model):
    weights = WeightsOfEpochs()
    model.compile(optimizer=keras.optimizers.SGD(-1.0))  # uphill: the first epoch is the best
    history = fit(model, tuning.KeepBest(), weights, epochs=3, validation_data=(BATCH, LABELS))
    assert np.argmin(history["val_loss"]) == 0
    assert_equal_weights(model, weights[0])


def test_the_best_model_so_far_is_in_its_folder(model, tmp_path):
    folder, found = tmp_path / "best", []

    class Reads(keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            found.append(TextClassifier.from_preset(folder).get_weights())

    weights = WeightsOfEpochs()
    best = tuning.KeepBest("val_score", mode="max", folder=folder)
    fit(model, best, weights, Reads(), scores_in_turn(0.4, 0.7, 0.6), epochs=3)
    for one, epoch in zip(found, (0, 1, 1), strict=True):
        for array, expected in zip(one, weights[epoch], strict=True):
            np.testing.assert_array_equal(array, expected)


def test_a_model_that_is_no_preset_has_no_folder(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    best = tuning.KeepBest("loss", folder=tmp_path)
    with pytest.raises(ValueError, match=r"can be saved as a preset.*Received: Sequential"):
        model.fit(np.zeros((2, 2)), np.zeros((2, 1)), callbacks=[best], verbose=0)


@pytest.mark.parametrize(
    ("scores", "error", "message"),
    [
        (0.5, TypeError, "must give a dict of names and numbers. Received: 0.5"),
        ({"f1": "high"}, TypeError, "'high' of type str for 'val_f1'"),
        ({"loss": 1.0}, ValueError, "Received: 'val_loss', beside"),
    ],
)
def test_senseless_scores_are_errors(model, scores, error, message):
    with pytest.raises(error, match=message):
        fit(model, tuning.EpochScores(lambda m: scores), validation_data=(BATCH, LABELS))
