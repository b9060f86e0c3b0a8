"""Merged models compute the same, and are plain."""

import keras
import numpy as np
import pytest
import torch
import transformers

from kerasbert import TextClassifier, tuning
from tests.models import tiny_families
from tests.tuning.tuned_models import (
    BATCH,
    METHODS,
    STILL,
    changed_by_a_step,
    classifier,
    disturb,
    logits_of,
    paths,
)


@pytest.fixture
def merged():
    model = disturb(tuning.lora(classifier(), rank=2, alpha=3, targets=("query", "intermediate")))
    before = logits_of(model)
    assert tuning.merge(model) is model
    np.testing.assert_allclose(logits_of(model), before, atol=1e-5)
    return model


def test_it_has_the_weights_of_a_plain_model_and_trains_them_all(merged):
    plain = classifier()
    assert sorted(paths(merged.weights)) == sorted(paths(plain.weights))
    assert set(paths(merged.trainable_variables)) == set(paths(plain.trainable_variables))
    assert "layer_0/attention/query/kernel" in changed_by_a_step(merged)
    assert merged.backbone.get_config() == {
        **plain.backbone.get_config(),
        "name": merged.backbone.name,
    }


@pytest.mark.parametrize("where", ["preset", "archive"])
def test_it_is_saved_and_loaded(merged, where, tmp_path):
    if where == "preset":
        merged.save_to_preset(tmp_path / "preset")
        again = TextClassifier.from_preset(tmp_path / "preset")
    else:
        merged.save(tmp_path / "model.keras")
        again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(logits_of(again), logits_of(merged))


def test_transformers_reads_it(merged, tmp_path):
    merged.export_to_transformers(tmp_path)
    theirs = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path).eval()
    batch = {name: torch.tensor(array).long() for name, array in BATCH.items()}
    with torch.no_grad():
        logits = theirs(
            input_ids=batch["token_ids"],
            token_type_ids=batch["segment_ids"],
            attention_mask=batch["padding_mask"],
        ).logits
    np.testing.assert_allclose(logits_of(merged), logits.numpy(), atol=1e-5)


def test_it_can_be_quantized(merged):
    before = logits_of(merged)
    merged.quantize("int8")
    after = logits_of(merged)
    assert 0 < np.abs(after - before).max() < 0.5


def test_it_can_be_tuned_again(merged):
    tuning.lora(merged, rank=3)
    before = logits_of(disturb(merged))
    np.testing.assert_allclose(logits_of(tuning.merge(merged)), before, atol=1e-5)


def test_mixed_precision_keeps_the_kernels_whole():
    """W + s A B is kept in the dtype of W, not in that of the products."""
    model = classifier(dtype="mixed_float16")
    kernel = model.backbone.get_layer("layer_0").attention.query.kernel
    before = keras.ops.convert_to_numpy(kernel)
    tuning.merge(tuning.lora(model, rank=2))  # B is zero
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(kernel), before)


def test_a_quantized_kernel_is_rounded_once_more():
    model = classifier()
    model.quantize("int8")
    disturb(tuning.lora(model, rank=2), scale=0.05)
    before = logits_of(model)
    tuning.merge(model)
    assert model.backbone.additions == ()
    assert np.abs(logits_of(model) - before).max() < 0.3
    (kernel,) = (v for v in model.weights if v.path == "layer_0/attention/query/kernel")
    assert keras.backend.standardize_dtype(kernel.dtype) == "int8"
    assert not kernel.trainable


def test_the_pooler_of_a_task_that_does_not_read_it_stays_frozen():
    model = tuning.merge(
        tuning.lora(tiny_families.task_of("bert", "token_classifier", **STILL), rank=2)
    )
    assert not any(path.startswith("pooler") for path in paths(model.trainable_variables))


@pytest.mark.parametrize("method", [name for name in METHODS if name != "lora"])
def test_what_cannot_be_merged_says_so(method):
    model = METHODS[method](METHODS["lora"](classifier()))
    before = model.backbone.additions
    with pytest.raises(ValueError, match=rf"Only `lora` can be folded.*\['{method}'\]"):
        tuning.merge(model)
    assert model.backbone.additions == before


def test_a_plain_model_stays_as_it_is():
    model = classifier()
    before = logits_of(model)
    np.testing.assert_array_equal(logits_of(tuning.merge(model)), before)
