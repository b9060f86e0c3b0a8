"""What any model of any family is saved as, it is read from: archives, presets, configurations."""

import itertools
import json

import keras
import numpy as np
import pytest
from keras import ops

import kerasbert
from kerasbert import Encoder, EncoderConfig
from kerasbert.families import FAMILIES, find_preset
from tests.models import tiny_families
from tests.models.tiny_families import TASKS

BATCH = tiny_families.batch_of((8, 5, 1))
MODELS = [
    *((family, None) for family in FAMILIES),
    *itertools.product(("bert", "modernbert"), TASKS),
    *zip(FAMILIES, itertools.cycle(TASKS), strict=False),
    ("mobilebert", "masked_lm"),
    ("albert", "pretraining"),
]
MODELS = list(dict.fromkeys(MODELS))


def build(family, task):
    """An encoder, or a model for a task, none of whose weights is zero or one as initialised."""
    model = (
        tiny_families.encoder_of(family) if task is None else tiny_families.task_of(family, task)
    )
    draw = np.random.default_rng(7)
    for variable in trained_and_frozen(model):
        variable.assign(draw.normal(0, 0.3, variable.shape))
    return model


def trained_and_frozen(model):
    """All variables but the states of dropout's random numbers and the optimizer's."""
    return [v for v in model.weights if v.dtype == "float32"]


def call(model, task):
    outputs = model(tiny_families.inputs_of(task, BATCH))
    return keras.tree.map_structure(ops.convert_to_numpy, outputs)


def assert_same_model(again, model, task):
    assert type(again) is type(model)
    assert again.get_config() == model.get_config()
    pairs = zip(trained_and_frozen(again), trained_and_frozen(model), strict=True)
    for one, other in pairs:
        assert one.path == other.path
        np.testing.assert_array_equal(*map(ops.convert_to_numpy, (one, other)))
    found, expected = call(again, task), call(model, task)
    keras.tree.assert_same_structure(found, expected)
    trainable = [[v.path for v in one.trainable_variables] for one in (again, model)]
    assert trainable[0] == trainable[1]
    for one, other in zip(*map(keras.tree.flatten, (found, expected)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(("family", "task"), MODELS)
def test_an_archive_and_a_preset_give_the_same_model(family, task, tmp_path):
    model = build(family, task)
    model.save(tmp_path / "model.keras")
    assert_same_model(keras.saving.load_model(tmp_path / "model.keras"), model, task)
    model.save_to_preset(tmp_path / "preset")
    assert_same_model(type(model).from_preset(tmp_path / "preset"), model, task)


OUTPUTS = """
    import json
    import keras
    import numpy as np
    import kerasbert

    batch = dict(np.load("batch.npz"))
    outputs = {}
    for family in json.loads(open("families.json").read()):
        encoder = kerasbert.Encoder.from_preset(family)
        assert encoder.family == family
        outputs[family] = keras.ops.convert_to_numpy(encoder(batch)["sequence_output"])
    np.savez("outputs.npz", **outputs)
"""


def test_presets_of_all_families_serve_all_backends(run_fresh, other_backends, tmp_path):
    encoders = {family: build(family, None) for family in FAMILIES}
    for family, encoder in encoders.items():
        encoder.save_to_preset(tmp_path / family)
    np.savez(tmp_path / "batch.npz", **BATCH)
    (tmp_path / "families.json").write_text(json.dumps(list(FAMILIES)))
    real = BATCH["padding_mask"].astype(bool)
    for backend in other_backends:
        run_fresh(OUTPUTS, backend, tmp_path)
        found = np.load(tmp_path / "outputs.npz")
        for family, encoder in encoders.items():
            expected = call(encoder, None)["sequence_output"]
            np.testing.assert_allclose(
                found[family][real], expected[real], atol=2e-5, rtol=2e-5, err_msg=family
            )


@pytest.mark.parametrize("name", kerasbert.list_presets())
def test_the_configuration_of_a_preset_survives_json(name):
    config = find_preset(name)[1].config
    again = EncoderConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert hash(again) == hash(config)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tiny_configuration_survives_json(family):
    config = tiny_families.config_of(family)
    assert EncoderConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    encoder = Encoder(json.loads(json.dumps(config.to_dict())), family=family)
    assert encoder.config == config
