"""Warm-up and what follows, by arithmetic and against transformers."""

import keras
import numpy as np
import pytest
import torch
import transformers

from kerasbert.tuning import WarmupConstant, WarmupCosineDecay, WarmupLinearDecay


def rates(schedule, steps):
    return [float(keras.ops.convert_to_numpy(schedule(step))) for step in steps]


def test_the_rate_rises_to_the_peak_and_falls_to_zero():
    schedule = WarmupLinearDecay(1.0, warmup=0.2, total_steps=10)
    expected = [0, 1 / 2, 1, 7 / 8, 6 / 8, 5 / 8, 4 / 8, 3 / 8, 2 / 8, 1 / 8, 0, 0]
    np.testing.assert_allclose(rates(schedule, range(12)), expected, atol=1e-6)


def test_without_warm_up_it_only_falls():
    schedule = WarmupLinearDecay(1.0, warmup=0.0, total_steps=4)
    np.testing.assert_allclose(rates(schedule, range(5)), [1, 0.75, 0.5, 0.25, 0], atol=1e-6)


@pytest.mark.parametrize("warmup", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("steps", [1, 2, 3, 7])
def test_short_runs_stay_between_zero_and_the_peak_and_learn_something(steps, warmup):
    found = rates(WarmupLinearDecay(0.5, warmup=warmup, total_steps=steps), range(steps))
    assert all(0 <= rate <= 0.5 for rate in found)
    assert max(found) > 0


@pytest.mark.parametrize("warmup_steps", [0, 3])
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (WarmupLinearDecay, "linear"),
        (WarmupCosineDecay, "cosine"),
        (WarmupConstant, "constant_with_warmup"),
    ],
)
def test_rates_are_those_of_transformers(kind, name, warmup_steps):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.5)
    theirs = transformers.get_scheduler(name, optimizer, warmup_steps, 12)
    expected = []
    for _ in range(13):
        expected.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        theirs.step()
    ours = kind(0.5, warmup=warmup_steps / 12, total_steps=12)
    np.testing.assert_allclose(rates(ours, range(13)), expected, atol=1e-6)


@pytest.mark.parametrize("kind", [WarmupLinearDecay, WarmupCosineDecay, WarmupConstant])
def test_cycles_run_one_after_the_other(kind):
    once = rates(kind(1.0, warmup=0.4, total_steps=5), range(6))
    found = rates(kind(1.0, warmup=0.4, total_steps=15, cycles=3), range(16))
    np.testing.assert_allclose(found, [*once[:5], *once[:5], *once], atol=1e-6)


def test_cycles_share_the_steps_of_a_plan():
    schedule = WarmupLinearDecay(1.0, warmup=0.0, cycles=2)
    schedule.plan(first_step=3, steps=4)
    np.testing.assert_allclose(rates(schedule, [3, 4, 5, 6, 7]), [1, 0.5, 1, 0.5, 0], atol=1e-6)


def test_it_may_begin_later():
    schedule = WarmupLinearDecay(1.0, warmup=0.0, total_steps=4, first_step=10)
    np.testing.assert_allclose(rates(schedule, [10, 12, 14]), [1, 0.5, 0], atol=1e-6)


def test_without_a_length_it_is_constant_until_it_is_planned():
    schedule = WarmupLinearDecay(1.0, warmup=0.0)
    assert rates(schedule, [0, 1000]) == [1, 1]
    assert schedule.plan(first_step=5, steps=10)
    np.testing.assert_allclose(rates(schedule, [5, 10, 15]), [1, 0.5, 0], atol=1e-6)
    assert not schedule.plan(first_step=5, steps=10)
    assert schedule.plan(first_step=15, steps=10)


def test_a_length_that_was_given_is_kept():
    schedule = WarmupLinearDecay(1.0, warmup=0.0, total_steps=4)
    assert not schedule.plan(first_step=5, steps=10)
    np.testing.assert_allclose(rates(schedule, [0, 2]), [1, 0.5], atol=1e-6)


def test_a_plan_is_not_part_of_the_configuration():
    schedule = WarmupLinearDecay(1.0, warmup=0.0)
    before = schedule.get_config()
    schedule.plan(first_step=5, steps=10)
    assert schedule.get_config() == before


@pytest.mark.parametrize("kind", [WarmupLinearDecay, WarmupCosineDecay, WarmupConstant])
def test_it_is_rebuilt_from_its_configuration(kind):
    schedule = kind(1.0, warmup=0.3, total_steps=10, first_step=2, cycles=2)
    data = keras.saving.serialize_keras_object(schedule)
    again = keras.saving.deserialize_keras_object(data)
    assert rates(again, range(12)) == rates(schedule, range(12))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"warmup": 1.0}, "warmup=1.0"),
        ({"warmup": -0.1}, "warmup=-0.1"),
        ({"total_steps": 0}, "total_steps=0"),
        ({"cycles": 0}, "cycles=0"),
        ({"cycles": 1.5}, "cycles=1.5"),
    ],
)
def test_senseless_arguments_are_errors(options, message):
    with pytest.raises(ValueError, match=message):
        WarmupLinearDecay(1e-3, **options)
