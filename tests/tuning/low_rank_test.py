"""LoRA against its formula, what it trains, and what survives saving."""

import keras
import numpy as np
import pytest

from kerasbert import EncoderConfig, TextClassifier, tuning
from tests.models import tiny_families
from tests.tuning.tuned_models import (
    BATCH,
    LABELS,
    changed_by_a_step,
    classifier,
    disturb,
    logits_of,
    numpy,
    paths,
    values_of,
)

FACTORS = ("lora_kernel_a", "lora_kernel_b")


@pytest.mark.parametrize(
    ("family", "targets", "kernels"),
    [
        ("bert", ("query", "value"), ("attention/query", "attention/value")),
        ("albert", ("attention/output",), ("attention/output",)),
        ("deberta-v2", ("key", "intermediate"), ("attention/key", "feed_forward/intermediate")),
        # Global tokens have projections of their own.
        ("longformer", "query", ("attention/query", "attention/sparse/query")),
    ],
)
def test_a_kernel_becomes_w_plus_alpha_over_rank_a_b(family, targets, kernels):
    model = classifier(family)
    before = values_of(model)
    plain = logits_of(model)
    tuning.lora(model, rank=2, alpha=3, targets=targets)
    np.testing.assert_array_equal(logits_of(model), plain)  # B is zero
    after = values_of(disturb(model))

    expected = classifier(family)
    touched = []
    for variable in expected.weights:
        value = after[variable.path]
        layer = variable.path.removesuffix("/kernel")
        if f"{layer}/lora_kernel_a" in after:
            a, b = (after[f"{layer}/{name}"] for name in FACTORS)
            value = before[variable.path] + 3 / 2 * a @ b  # section 4.1
            touched.append(layer.partition("/")[2])
        variable.assign(value)
    assert set(touched) == set(kernels)
    np.testing.assert_allclose(logits_of(model), logits_of(expected), atol=1e-5)


def test_without_alpha_the_update_is_not_scaled():
    model = disturb(tuning.lora(classifier(), rank=3))
    layer = model.backbone.get_layer("layer_0").attention.query
    product = numpy(layer.lora_kernel_a) @ numpy(layer.lora_kernel_b)
    weights = values_of(model)
    kernel = weights["layer_0/attention/query/kernel"] + product
    np.testing.assert_allclose(numpy(layer.kernel), kernel, atol=1e-6)


def test_only_the_factors_and_the_head_are_trained():
    model = disturb(tuning.lora(classifier(), rank=2))
    expected = {
        f"layer_{i}/attention/{name}/{factor}"
        for i in range(2)
        for name in ("query", "value")
        for factor in FACTORS
    } | {"head/output/kernel", "head/output/bias"}
    assert set(paths(model.trainable_variables)) == expected
    assert changed_by_a_step(model) == expected


def test_the_number_of_trained_parameters():
    model = tuning.lora(classifier(), rank=2, targets=("query", "intermediate"))
    query, intermediate = 2 * (12 + 12), 2 * (12 + 16)
    assert trained(model) == 2 * (query + intermediate) + 12 * 3 + 3


def trained(model):
    return sum(int(np.prod(variable.shape)) for variable in model.trainable_variables)


def test_an_unknown_target_is_answered_with_the_layers():
    with pytest.raises(ValueError, match=r"'intermediate'.*'attention/output'.*\['querry'\]"):
        tuning.lora(classifier(), targets=("querry", "value"))
    with pytest.raises(ValueError, match="no target"):
        tuning.lora(classifier(), targets=())


@pytest.mark.parametrize("rank", [0, 13, 2.0])
def test_a_rank_must_fit_the_kernels(rank):
    model = classifier()
    with pytest.raises(ValueError, match=rf"`rank` must.*rank={rank}"):
        tuning.lora(model, rank=rank)
    assert model.backbone.additions == ()


def test_alpha_must_be_positive():
    with pytest.raises(ValueError, match=r"`alpha` must be positive\. Received: alpha=-1"):
        tuning.lora(classifier(), alpha=-1)


def test_once_is_enough():
    with pytest.raises(ValueError, match=r"has `lora` already.*merge them first"):
        tuning.lora(tuning.lora(classifier(), rank=2), rank=2)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"`model` must be a .* or a task"):
        tuning.lora("bert_base_en")


def test_kerashub_s_own_way_in():
    encoder = tiny_families.encoder_of("bert")
    encoder.enable_lora(2)
    assert len(encoder.trainable_variables) == 2 * 2 * 2
    again = type(encoder).from_config(encoder.get_config())
    assert paths(again.trainable_variables) == paths(encoder.trainable_variables)


class TestQuantized:
    """A quantized base and float factors: known to fail elsewhere when saved (keras-hub 1705)."""

    @pytest.fixture(params=["encoder", "task"])
    def model(self, request):
        model = classifier()
        (model if request.param == "task" else model.backbone).quantize("int8")
        return model

    def test_the_factors_train_beside_int8_kernels(self, model):
        head_is_quantized = model.head.dense_output.quantization_mode is not None
        tuning.lora(model, rank=2)
        changed = changed_by_a_step(disturb(model))
        head = {"head/output/bias"} | (set() if head_is_quantized else {"head/output/kernel"})
        assert {path for path in changed if not path.endswith(FACTORS)} == head
        assert len(changed) == 2 * 2 * 2 + len(head)
        (kernel,) = (v for v in model.weights if v.path == "layer_0/attention/query/kernel")
        assert keras.backend.standardize_dtype(kernel.dtype) == "int8"

    @pytest.mark.parametrize("where", ["preset", "archive"])
    def test_it_is_saved_as_it_is(self, model, where, tmp_path):
        disturb(tuning.lora(model, rank=2, alpha=5), scale=0.1)
        again = save_and_load(model, where, tmp_path)
        np.testing.assert_array_equal(logits_of(again), logits_of(model))
        before, after = values_of(model), values_of(again)
        for path, value in before.items():
            np.testing.assert_array_equal(after[path], value, err_msg=path)


def save_and_load(model, where, folder):
    if where == "preset":
        model.save_to_preset(folder / "preset")
        return TextClassifier.from_preset(folder / "preset")
    model.save(folder / "model.keras")
    return keras.saving.load_model(folder / "model.keras")


def test_an_interrupted_run_goes_on_as_if_it_had_not_been(tmp_path):
    """Keras itself would save the kernel with the update in it, and zeros that cannot learn."""

    def run(model, epochs):
        model.fit(BATCH, LABELS, epochs=epochs, shuffle=False, verbose=0)

    def start():
        model = classifier()
        draw = np.random.default_rng(0)
        for variable in model.weights:
            variable.assign(draw.normal(0, 0.3, variable.shape))
        model.compile(optimizer=keras.optimizers.Adam(0.02))
        keras.utils.set_random_seed(1)
        return tuning.lora(model, rank=2)

    whole, first = start(), start()
    run(whole, 4)
    run(first, 2)
    second = save_and_load(first, "archive", tmp_path)
    run(second, 2)
    expected = values_of(whole)
    for path, value in values_of(second).items():
        np.testing.assert_allclose(value, expected[path], atol=1e-5, err_msg=path)


def test_factors_are_not_dropped_when_a_plain_model_reads_them(tmp_path):
    model = tuning.lora(classifier(), rank=2)
    model.save_weights(tmp_path / "tuned.weights.h5")
    with pytest.raises(ValueError, match=r"factors of LoRA.*tuning.lora"):
        classifier().load_weights(tmp_path / "tuned.weights.h5")


def test_weights_of_the_base_leave_the_factors_as_they_were(tmp_path):
    base = classifier()
    base.save_weights(tmp_path / "base.weights.h5")
    model = tuning.lora(classifier(), rank=2)
    model.load_weights(tmp_path / "base.weights.h5")
    np.testing.assert_allclose(logits_of(model), logits_of(base), atol=1e-6)
    assert any(numpy(v).any() for v in model.trainable_variables if v.path.endswith("kernel_a"))


class TestCompiledModels:
    def test_settings_are_kept_and_the_optimizer_is_new(self):
        model = classifier()
        model.compile(
            optimizer=keras.optimizers.SGD(0.25, momentum=0.5),
            loss=lambda y, z: keras.losses.sparse_categorical_crossentropy(y, z, from_logits=True),
            metrics=["accuracy"],
        )
        model.fit(BATCH, LABELS, verbose=0)
        model.predict(BATCH, verbose=0)
        before, loss = model.optimizer, model.loss
        disturb(tuning.lora(model, rank=2))
        assert isinstance(model.optimizer, keras.optimizers.SGD)
        assert model.optimizer is not before
        assert model.optimizer.momentum == 0.5
        assert float(numpy(model.optimizer.learning_rate)) == 0.25
        assert model.loss is loss
        # What was compiled before does not answer for the model as it is now.
        np.testing.assert_allclose(model.predict(BATCH, verbose=0), logits_of(model), atol=1e-5)
        assert "accuracy" in model.fit(BATCH, LABELS, verbose=0).history

    def test_a_model_that_is_not_compiled_stays_so(self):
        encoder = tiny_families.encoder_of("bert", **{"hidden_dropout": 0.0})
        before = encoder.predict(BATCH, verbose=0)["sequence_output"]
        disturb(tuning.lora(encoder, rank=2))
        assert not encoder.compiled
        after = encoder.predict(BATCH, verbose=0)["sequence_output"]
        assert np.abs(after - before).max() > 1e-3

    def test_what_cannot_be_compiled_again_is_refused_before_anything_is_changed(self):
        class Local(keras.metrics.Mean):
            def __init__(self, needed):
                super().__init__(name="local")

        model = classifier()
        model.compile(metrics=[Local(1)])
        with pytest.raises(ValueError, match="cannot be compiled anew"):
            tuning.lora(model)
        assert model.backbone.additions == ()


def test_the_size_in_the_paper_s_own_setting():
    """RoBERTa base with rank 8 on queries and values: 0.3M (Hu et al., 2021, table 2)."""
    config = EncoderConfig()
    per_layer = 2 * 8 * (config.hidden_dim + config.hidden_dim)
    assert round(config.num_layers * per_layer / 1e6, 1) == 0.3
