"""The table of a model's parts, by counting and arithmetic."""

import keras
import numpy as np
import pytest

from kerasbert import tuning
from tests.tuning.tuned_models import BATCH, LABELS, classifier


def compiled(model, **options):
    model.compile(optimizer=tuning.optimizer(model, learning_rate=0.1, **options))
    return model


def test_each_part_has_its_size_rate_and_decay():
    """Two layers of width 12, intermediate 16; 40 tokens, 24 positions, 2 segments; 3 classes."""
    table = tuning.describe(compiled(classifier(), layer_decay=0.5, weight_decay=0.2))
    tables, kernels = (40 + 24 + 2) * 12, 4 * 12 * 12 + 2 * 12 * 16
    sizes = {
        "embeddings": (tables + 2 * 12, tables, 0.25),
        "layer_0": (kernels + 4 * 12 + 16 + 12 + 4 * 12, kernels, 0.5),
        "layer_1": (kernels + 4 * 12 + 16 + 12 + 4 * 12, kernels, 1.0),
        "pooler": (12 * 12 + 12, 12 * 12, 1.0),
        "head": (12 * 3 + 3, 12 * 3, 1.0),
    }
    assert [row.part for row in table] == list(sizes)
    for row in table:
        parameters, decayed, rate = sizes[row.part]
        assert (row.parameters, row.trainable, row.decayed) == (parameters, parameters, decayed)
        assert row.relative_rate == rate
        assert row.peak_rate == pytest.approx(0.1 * rate)
        assert row.weight_decay == 0.2


def test_it_prints_as_a_table():
    model = tuning.freeze(compiled(classifier(), layer_decay=0.5), layers=1)
    lines = str(tuning.describe(model)).splitlines()
    assert lines[0].split() == "part parameters trainable rate peak rate weight decay on".split()
    assert lines[2].split() == "layer_0 1,084 0 - - - 0".split()
    assert lines[3].split() == "layer_1 1,084 1,084 1 0.1 0.01 960".split()
    trainable = 1084 + 156 + 39
    assert lines[-1].split() == ["all", "3,179", f"{trainable:,}", "1,140"]
    assert len({len(line) for line in lines[:-1]}) == 1  # right-aligned columns


def test_what_is_frozen_has_no_rate():
    model = tuning.bitfit(compiled(classifier()))
    row = tuning.describe(model)["layer_0"]
    assert row.trainable == 4 * 12 + 16 + 12 + 2 * 12  # biases of six kernels and two norms
    assert (row.relative_rate, row.decayed) == (1.0, 0)
    frozen = tuning.describe(tuning.freeze(model))["layer_0"]
    assert (frozen.trainable, frozen.relative_rate, frozen.peak_rate) == (0, None, None)


def test_a_model_that_is_not_compiled_has_sizes_only():
    table = tuning.describe(classifier().backbone)
    assert [row.part for row in table] == ["embeddings", "layer_0", "layer_1", "pooler"]
    assert all(row.peak_rate is None and row.trainable == row.parameters for row in table)


@pytest.mark.parametrize(
    ("optimizer", "peak", "decay"),
    [
        (lambda: keras.optimizers.SGD(0.5), 0.5, 0.0),
        (lambda: keras.optimizers.AdamW(0.5, weight_decay=0.1), 0.5, 0.1),
        (lambda: tuning.AdamW(0.5, weight_decay=0.1), 0.5, 0.1),
        (
            lambda: keras.optimizers.SGD(keras.optimizers.schedules.CosineDecay(0.5, 9)),
            None,
            0.0,
        ),
    ],
)
def test_other_optimizers_and_schedules_are_described_too(optimizer, peak, decay):
    model = classifier()
    model.compile(optimizer=optimizer())
    row = tuning.describe(model)["head"]
    assert (row.relative_rate, row.peak_rate, row.weight_decay) == (1.0, peak, decay)
    assert bool(row.decayed) == bool(decay)


def test_it_looks_behind_the_scaling_of_losses_and_changes_nothing():
    model = compiled(classifier(dtype="mixed_float16"), layer_decay=0.5)
    assert hasattr(model.optimizer, "inner_optimizer")
    assert tuning.describe(model)["layer_0"].relative_rate == 0.5
    history = model.fit(BATCH, LABELS, verbose=0).history
    assert np.isfinite(history["loss"]).all()


def test_a_part_that_is_not_there_is_an_error():
    with pytest.raises(KeyError, match="no part 'layer_7'"):
        tuning.describe(classifier())["layer_7"]


def test_a_model_without_weights_is_an_error():
    with pytest.raises(ValueError, match="build it first"):
        tuning.describe(keras.Sequential([keras.layers.Dense(1)]))
