"""Gradual unfreezing inside one fit: what moves in which epoch, and how fast."""

import keras
import numpy as np
import pytest

from kerasbert import tuning
from tests.tuning.notes import Moved, Rates
from tests.tuning.tuned_models import BATCH, LABELS, classifier

TOP = ("head/", "pooler/")
STAGES = [TOP, ("layer_1/",), ("layer_0/",), ("embeddings/",)]  # from the head down


def compiled(dtype=None, **options):
    model = classifier(dtype=dtype)
    model.compile(
        optimizer=tuning.optimizer(
            model, **{"learning_rate": 0.01, "warmup": 0, "schedule": "constant", **options}
        )
    )
    return model


def fit(model, callback, epochs, **options):
    moved = Moved()
    model.fit(
        BATCH,
        LABELS,
        batch_size=2,
        epochs=epochs,
        callbacks=[callback, moved],
        verbose=0,
        **options,
    )
    return moved.epochs


def of_stages(model, count):
    parts = tuple(start for stage in STAGES[:count] for start in stage)
    return {v.path for v in model.weights if v.path.startswith(parts)}


@pytest.mark.parametrize("dtype", [None, "mixed_float16"])
def test_one_layer_more_trains_in_each_epoch(dtype):
    model = compiled(dtype)
    found = fit(model, tuning.GradualUnfreezing(), 5)
    assert found == [of_stages(model, count) for count in (1, 2, 3, 4, 4)]


@pytest.mark.parametrize(
    ("epochs_per_layer", "stages"),
    [(1, (1, 2, 3, 4, 4)), (2, (1, 1, 2, 2)), (0.5, (1, 3, 4)), (0.1, (1, 4))],
)
def test_the_stage_is_that_of_the_epoch(epochs_per_layer, stages):
    model = compiled()
    callback = tuning.GradualUnfreezing(epochs_per_layer)
    callback.set_model(model)
    for epoch, stage in enumerate(stages):
        callback.on_epoch_begin(epoch)
        trained = {row.part for row in tuning.describe(model) if row.relative_rate}
        assert {f"{part}/" for part in trained} == {
            part for each in STAGES[:stage] for part in each
        }


def test_rates_by_layer_hold_for_what_trains():
    model = compiled(layer_decay=0.5)
    seen = []
    note = keras.callbacks.LambdaCallback(
        on_epoch_begin=lambda epoch, logs: seen.append(
            [row.relative_rate for row in tuning.describe(model)]
        )
    )
    callbacks = [tuning.GradualUnfreezing(), note]
    model.fit(BATCH, LABELS, epochs=4, callbacks=callbacks, verbose=0)
    assert seen == [  # embeddings, layer_0, layer_1, pooler, head
        [0, 0, 0, 1, 1],
        [0, 0, 1, 1, 1],
        [0, 0.5, 1, 1, 1],
        [0.25, 0.5, 1, 1, 1],
    ]


def test_all_trains_when_it_is_over_or_was_interrupted():
    model = compiled()
    everything = of_stages(model, 4)
    fit(model, tuning.GradualUnfreezing(), 1)
    assert fit(model, keras.callbacks.Callback(), 1) == [everything]

    class Interruption(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.fit(BATCH, LABELS, callbacks=[tuning.GradualUnfreezing(), Interruption()], verbose=0)
    assert fit(model, keras.callbacks.Callback(), 1) == [everything]


def test_each_stage_may_warm_up_anew():
    """4 epochs of 2 steps: in each cycle the first step of warm-up has no rate, the second all."""
    model = compiled(schedule="linear", warmup=0.5, cycles=4)
    rates = Rates()
    callbacks = [tuning.GradualUnfreezing(), rates]
    model.fit(BATCH, LABELS, batch_size=2, epochs=4, callbacks=callbacks, verbose=0)
    np.testing.assert_allclose(rates.rates, [0, 0.01] * 4, atol=1e-8)


def test_other_optimizers_are_refused():
    model = classifier()
    model.compile(optimizer=keras.optimizers.SGD(0.1))
    with pytest.raises(ValueError, match="Received: SGD"):
        model.fit(BATCH, LABELS, callbacks=[tuning.GradualUnfreezing()], verbose=0)


@pytest.mark.parametrize("epochs", [0, -1, float("inf"), "one"])
def test_senseless_stages_are_errors(epochs):
    with pytest.raises(ValueError, match="epochs_per_layer="):
        tuning.GradualUnfreezing(epochs)
