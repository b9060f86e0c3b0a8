"""The recipe of fine-tuning, and how it is laid over a run."""

import keras
import numpy as np
import pytest

from kerasbert import tuning
from kerasbert.tuning.optimizers import batch_counter, prepare
from tests.tuning.notes import Rates
from tests.tuning.tuned_models import BATCH, LABELS, classifier, numpy


def test_the_recipe_is_the_papers():
    optimizer = tuning.optimizer()
    assert isinstance(optimizer, tuning.AdamW)
    schedule = optimizer.get_config()["learning_rate"]["config"]
    assert (schedule["peak"], schedule["warmup"]) == (2e-5, 0.1)
    assert optimizer.weight_decay == 0.01
    assert optimizer.layer_decay is None
    # google-research/bert, optimization.py: epsilon, beta_1, beta_2, clipping
    assert (optimizer.epsilon, optimizer.beta_1, optimizer.beta_2) == (1e-6, 0.9, 0.999)
    assert optimizer.global_clipnorm == 1.0


def test_the_recipe_may_be_changed():
    optimizer = tuning.optimizer(
        learning_rate=1e-3,
        weight_decay=0.2,
        warmup=0.3,
        total_steps=10,
        clip_norm=None,
        cycles=2,
        beta_1=0.8,
    )
    assert (optimizer.weight_decay, optimizer.beta_1) == (0.2, 0.8)
    assert optimizer.global_clipnorm is None
    schedule = optimizer.get_config()["learning_rate"]["config"]
    assert schedule == {
        "peak": 1e-3,
        "warmup": 0.3,
        "total_steps": 10,
        "first_step": 0,
        "cycles": 2,
    }


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("linear", tuning.WarmupLinearDecay),
        ("cosine", tuning.WarmupCosineDecay),
        ("constant", tuning.WarmupConstant),
    ],
)
def test_schedules_have_names(name, kind):
    optimizer = tuning.optimizer(learning_rate=0.5, schedule=name, total_steps=100)
    again = tuning.AdamW.from_config(optimizer.get_config())
    again.iterations.assign(10)
    assert float(numpy(again.learning_rate)) == pytest.approx(0.5)
    assert kind.__name__ == optimizer.get_config()["learning_rate"]["class_name"]


def test_a_schedule_of_keras_gives_the_rates_itself():
    schedule = keras.optimizers.schedules.ExponentialDecay(0.5, decay_steps=1, decay_rate=0.1)
    optimizer = tuning.optimizer(schedule=schedule)
    optimizer.iterations.assign(2)
    assert float(numpy(optimizer.learning_rate)) == pytest.approx(0.005)


def test_the_schedule_spans_the_steps_of_a_fit_that_accumulates_gradients():
    """2 epochs of 5 batches, 2 to a step, are 5 steps, of which 2 warm up."""
    model, rates = classifier(), Rates()
    model.compile(tuning.optimizer(learning_rate=0.1, warmup=0.4, gradient_accumulation_steps=2))
    inputs = {name: np.repeat(array[:1], 5, axis=0) for name, array in BATCH.items()}
    labels = np.repeat(LABELS[:1], 5)
    model.fit(inputs, labels, batch_size=1, epochs=2, callbacks=[rates], verbose=0)
    expected = np.repeat([0, 1 / 2, 1, 2 / 3, 1 / 3], 2)
    np.testing.assert_allclose(rates.rates, 0.1 * expected, rtol=1e-5, atol=1e-8)


def test_what_is_left_of_a_fit_is_part_of_a_step_of_the_next():
    """5 batches, 4 to a step: one is left, so that 7 more make two steps."""
    schedule = tuning.WarmupLinearDecay(1.0, warmup=0.0)
    optimizer = tuning.AdamW(schedule, gradient_accumulation_steps=4)
    batch_counter(optimizer).assign(5)
    assert prepare(optimizer, 7)
    rates = [float(numpy(schedule(step))) for step in (1, 2, 3)]
    np.testing.assert_allclose(rates, [1, 0.5, 0], atol=1e-6)


def test_keras_own_optimizers_give_the_schedule_batches():
    schedule = tuning.WarmupLinearDecay(1.0, warmup=0.0)
    prepare(keras.optimizers.SGD(schedule, gradient_accumulation_steps=4), 8)
    np.testing.assert_allclose(float(numpy(schedule(4))), 0.5, atol=1e-6)


def test_rates_by_layer_need_a_model_with_layers():
    with pytest.raises(ValueError, match="needs the model"):
        tuning.optimizer(layer_decay=0.9)
    dense = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    with pytest.raises(ValueError, match="one with layers"):
        tuning.optimizer(dense, layer_decay=0.9)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"model": 1e-3}, TypeError, "by name.*model=0.001"),
        ({"schedule": "step"}, ValueError, "schedule='step'"),
        ({"schedule": 0.1}, TypeError, "schedule=0.1"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate=0.0"),
        ({"learning_rate": float("nan")}, ValueError, "learning_rate=nan"),
        ({"warmup": 1.0}, ValueError, "warmup=1.0"),
        ({"cycles": 0}, ValueError, "cycles=0"),
    ],
)
def test_senseless_arguments_are_errors(options, error, message):
    with pytest.raises(error, match=message):
        tuning.optimizer(**options)
