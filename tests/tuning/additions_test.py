"""Every method on every family that can have it, and what is saved and loaded with it."""

import keras
import numpy as np
import pytest

from kerasbert import Encoder, TextClassifier, distillation, tuning
from kerasbert.families import FAMILIES
from kerasbert.models.restating import restated_for
from tests.models import tiny_families
from tests.tuning.tuned_models import (
    BATCH,
    METHODS,
    SEE_ALL,
    changed_by_a_step,
    classifier,
    disturb,
    logits_of,
    numpy,
    paths,
    values_of,
)

BACKEND = keras.backend.backend()
# On JAX, where each takes seconds to compile, one family of each kind of attention stands for all.
FEW = ("bert", "mpnet", "deberta-v2", "mobilebert")
FAMILIES_HERE = [name for name in SEE_ALL if BACKEND != "jax" or name in FEW]
ALL = [(family, method) for family in FAMILIES_HERE for method in METHODS]
SPARSE = [
    (family, method) for family in ("longformer", "modernbert") for method in ("lora", "adapters")
]


@pytest.mark.parametrize(("family", "method"), ALL + SPARSE)
def test_a_step_changes_what_was_added_and_the_head_and_nothing_else(family, method):
    model = classifier(family)
    plain = set(values_of(model))
    assert METHODS[method](model) is model
    disturb(model)
    added = set(values_of(model)) - plain
    expected = added | {path for path in plain if path.startswith("head/")}
    if method == "adapters":
        norms = {path for path in plain if path.endswith(("/gamma", "/beta"))}
        expected |= norms - {path for path in norms if path.startswith("pooler")}
    assert set(paths(model.trainable_variables)) == expected
    assert changed_by_a_step(model) == expected


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("where", ["config", "preset", "archive"])
def test_an_addition_is_saved_and_loaded(method, where, tmp_path):
    model = disturb(METHODS[method](classifier()))
    if where == "config":
        encoder = Encoder.from_config(model.backbone.get_config())
        again = TextClassifier(encoder, num_classes=3)
        for one, other in zip(again.weights, model.weights, strict=True):
            one.assign(numpy(other))
    elif where == "preset":
        model.save_to_preset(tmp_path / "preset")
        again = TextClassifier.from_preset(tmp_path / "preset")
    else:
        model.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.backbone.additions == model.backbone.additions
    assert paths(again.trainable_variables) == paths(model.trainable_variables)
    assert paths(again.weights) == paths(model.weights)
    np.testing.assert_allclose(logits_of(again), logits_of(model), atol=1e-6)


def test_several_additions_are_saved_and_loaded_together(tmp_path):
    model = classifier()
    for method in METHODS.values():
        method(model)
    disturb(model)
    model.save_to_preset(tmp_path / "preset")
    again = TextClassifier.from_preset(tmp_path / "preset")
    assert [addition.method for addition in again.backbone.additions] == [*METHODS]
    np.testing.assert_allclose(logits_of(again), logits_of(model), atol=1e-6)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "lora"])
@pytest.mark.parametrize("quantized_first", [True, False])
def test_additions_and_quantization_go_together(method, quantized_first, tmp_path):
    model = classifier()
    if quantized_first:
        model.backbone.quantize("int8")
    disturb(METHODS[method](model), scale=0.1)
    if not quantized_first:
        model.quantize("int8")
    model.save_to_preset(tmp_path / "preset")
    again = TextClassifier.from_preset(tmp_path / "preset")
    np.testing.assert_allclose(logits_of(again), logits_of(model), atol=1e-6)


def test_a_plain_encoder_s_configuration_does_not_mention_additions():
    assert "additions" not in tiny_families.encoder_of("bert").get_config()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"method": "ia3"}, r"of the methods \['adapters', 'lora', 'prefixes', 'prompts'\].*'ia3'"),
        ({"method": "lora", "size": 3}, r"'lora' has no such settings.*'size': 3"),
    ],
)
def test_additions_that_are_not_known_are_refused(data, message):
    config = tiny_families.config_of("bert")
    with pytest.raises(ValueError, match=message):
        Encoder(config, additions=[data])


@pytest.mark.parametrize("method", METHODS)
def test_what_needs_a_plain_encoder_refuses_any_other(method, tmp_path):
    model = METHODS[method](classifier())
    remedy = "tuning.merge" if method == "lora" else "save_to_preset"
    for refuse in (
        lambda: model.export_to_transformers(tmp_path / "task"),
        lambda: model.backbone.export_to_transformers(tmp_path / "encoder"),
        lambda: distillation.make_student(model, num_layers=1),
        lambda: restated_for(model, FAMILIES["roberta"]),
    ):
        with pytest.raises(ValueError, match=f"plain encoders only.*{remedy}.*additions="):
            refuse()
    assert list(tmp_path.iterdir()) == []


def test_frozen_layers_stay_frozen_unless_something_in_them_is_trained():
    encoder = tiny_families.encoder_of("bert")
    encoder.trainable = False
    tuning.lora(encoder, rank=2)
    assert encoder.get_layer("layer_0").trainable
    assert not encoder.get_layer("pooler").trainable
    assert len(encoder.trainable_variables) == 8


@pytest.mark.parametrize("dtype", ["mixed_float16", "bfloat16"])
@pytest.mark.parametrize("method", METHODS)
def test_half_precision_trains(method, dtype):
    model = METHODS[method](classifier(dtype=dtype))
    model.fit(BATCH, tiny_families.labels_of("classifier", BATCH), verbose=0)
    assert all(np.isfinite(value).all() for value in values_of(model).values())
