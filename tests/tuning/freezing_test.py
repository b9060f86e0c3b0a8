"""What trains after freezing, before and after compiling, and that the rest stays as it was."""

import keras
import numpy as np
import pytest

from kerasbert import EncoderConfig, TextClassifier, tuning
from tests.models import tiny_families
from tests.tuning.tuned_models import BATCH, LABELS, STILL, classifier, paths, values_of

HEAD = {"head/output/kernel", "head/output/bias"}


def starts(model, *starts):
    return {v.path for v in model.weights if v.path.startswith(starts)}


def encoder_paths(model):
    return {v.path for v in model.backbone.weights}


WAYS = {
    "all": (lambda m: tuning.freeze(m), lambda m: encoder_paths(m)),
    "one layer": (
        lambda m: tuning.freeze(m, layers=1),
        lambda m: starts(m, "embeddings/", "layer_0/"),
    ),
    "embeddings": (lambda m: tuning.freeze(m, layers=0), lambda m: starts(m, "embeddings/")),
    "layers": (
        lambda m: tuning.freeze(m, layers=2, embeddings=False),
        lambda m: starts(m, "layer_"),
    ),
    "bitfit": (
        tuning.bitfit,
        lambda m: {p for p in encoder_paths(m) if not p.endswith(("/bias", "/beta"))},
    ),
}


def train(model):
    """Paths of what two epochs change, with rate and decay large enough for every weight."""
    before = values_of(model)
    model.fit(BATCH, LABELS, batch_size=2, epochs=2, verbose=0)
    after = values_of(model)
    return {path for path in after if not np.array_equal(before[path], after[path])}


def compile_(model):
    model.compile(optimizer=tuning.optimizer(learning_rate=0.01, warmup=0, weight_decay=0.1))


@pytest.mark.parametrize("way", WAYS)
def test_what_is_frozen_stays_to_the_bit_and_all_else_trains(way):
    model = classifier()
    freeze, frozen = WAYS[way]
    assert freeze(model) is model
    compile_(model)
    expected = set(paths(model.weights)) - frozen(model)
    assert set(paths(model.trainable_variables)) == expected
    assert train(model) == expected


def test_a_model_that_has_been_trained_can_be_frozen_and_unfrozen():
    model = classifier()
    compile_(model)
    everything = set(paths(model.weights))
    assert train(model) == everything
    tuning.freeze(model)
    assert train(model) == HEAD
    tuning.unfreeze(model)
    assert train(model) == everything


def test_freezing_adds_to_what_is_frozen():
    model = tuning.freeze(tuning.freeze(classifier(), layers=0), layers=2, embeddings=False)
    assert set(paths(model.trainable_variables)) == {"pooler/kernel", "pooler/bias"} | HEAD


def test_bitfit_follows_freezing():
    model = tuning.bitfit(tuning.freeze(classifier()))
    trained = set(paths(model.trainable_variables))
    assert trained - HEAD == {p for p in encoder_paths(model) if p.endswith(("/bias", "/beta"))}


def test_a_pooler_that_the_task_does_not_read_stays_frozen():
    model = tiny_families.task_of("bert", "masked_lm", **STILL)
    before = set(paths(model.trainable_variables))
    assert not starts(model, "pooler/") & before
    assert set(paths(tuning.unfreeze(tuning.freeze(model)).trainable_variables)) == before
    tuning.bitfit(model)
    assert "pooler/bias" not in paths(model.trainable_variables)
    assert "head/dense/kernel" in paths(model.trainable_variables)


def test_shared_layers_are_frozen_together():
    model = tuning.freeze(classifier("albert", num_layers=4), layers=1)
    assert not [path for path in paths(model.trainable_variables) if "layer_" in path]
    with pytest.raises(ValueError, match="from 0 to 1, the distinct layers"):
        tuning.freeze(model, layers=2)


def test_tables_of_relative_positions_are_embeddings():
    model = tuning.freeze(classifier("deberta-v2"), layers=0)
    assert not [p for p in paths(model.trainable_variables) if p.startswith("relative_positions/")]


def test_an_encoder_alone_is_frozen_too():
    encoder = tiny_families.encoder_of("bert")
    tuning.freeze(encoder, layers=1)
    assert all(p.startswith(("layer_1/", "pooler/")) for p in paths(encoder.trainable_variables))
    model = TextClassifier(encoder, num_classes=3)  # a new head on it
    assert set(paths(model.trainable_variables)) > HEAD


def test_dropout_stays_active_in_frozen_layers():
    model = tuning.freeze(
        tiny_families.task_of("bert", "classifier", hidden_dropout=0.5, attention_dropout=0.0)
    )
    first, second = (np.asarray(_numpy(model(BATCH, training=True))) for _ in range(2))
    assert np.abs(first - second).max() > 1e-3


def test_weights_frozen_behind_the_scaling_of_losses_stay_too():
    model = classifier(dtype="mixed_float16")
    compile_(model)
    tuning.freeze(model)
    assert hasattr(model.optimizer, "inner_optimizer")
    assert train(model) == HEAD


def test_an_optimizer_of_keras_is_kept_with_its_settings():
    model = classifier()
    model.compile(optimizer=keras.optimizers.SGD(0.25, momentum=0.5))
    model.fit(BATCH, LABELS, verbose=0)
    tuning.freeze(model)
    assert isinstance(model.optimizer, keras.optimizers.SGD)
    assert float(_numpy(model.optimizer.learning_rate)) == 0.25
    assert model.optimizer.momentum == 0.5
    assert int(_numpy(model.optimizer.iterations)) == 0  # it starts anew
    assert train(model) == HEAD


def test_an_encoder_without_biases_has_no_bitfit():
    model = classifier("modernbert")
    before = paths(model.trainable_variables)
    with pytest.raises(ValueError, match="no biases"):
        tuning.bitfit(model)
    assert paths(model.trainable_variables) == before


@pytest.mark.parametrize("layers", [-1, 3, 1.0, True, "some"])
def test_layers_that_are_not_there_are_an_error(layers):
    with pytest.raises(ValueError, match="from 0 to 2"):
        tuning.freeze(classifier(), layers=layers)


@pytest.mark.parametrize("function", [tuning.freeze, tuning.unfreeze, tuning.bitfit])
def test_other_things_are_an_error(function):
    with pytest.raises(TypeError, match="Received: model="):
        function(EncoderConfig())


def _numpy(x):
    return keras.ops.convert_to_numpy(x)
