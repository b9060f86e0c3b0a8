"""Adapters against their formula, and what they train."""

import numpy as np
import pytest

from kerasbert import Encoder, EncoderConfig, tuning
from kerasbert.layers import ACTIVATIONS
from tests.models import tiny_families
from tests.tuning.tuned_models import (
    STILL,
    changed_by_a_step,
    classifier,
    disturb,
    logits_of,
    numpy,
    paths,
)

CONFIG = EncoderConfig(
    vocabulary_size=9,
    num_layers=1,
    num_heads=2,
    hidden_dim=6,
    intermediate_dim=10,
    norm_epsilon=1e-3,
    initializer_range=0.5,
    **STILL,
)
PLACES = {
    "houlsby": ("attention_adapter", "feed_forward_adapter"),
    "pfeiffer": ("feed_forward_adapter",),
}
PARTS = ("down/kernel", "down/bias", "up/kernel", "up/bias")


def normalize(layer, x):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    return y * numpy(layer.gamma) + numpy(layer.beta)


def adapt(block, place, y):
    """y + W_up f(W_down y) (Houlsby et al., 2019, section 2.1), where there is an adapter."""
    adapter = getattr(block, place)
    if adapter is None:
        return y
    down, up = adapter.down, adapter.up
    inner = np.maximum(y @ numpy(down.kernel) + numpy(down.bias), 0)
    return y + inner @ numpy(up.kernel) + numpy(up.bias)


@pytest.mark.parametrize("norm_placement", ["post", "pre"])
@pytest.mark.parametrize("placement", PLACES)
def test_a_block_with_adapters_computes_the_formula(placement, norm_placement):
    encoder = Encoder(CONFIG.replace(norm_placement=norm_placement))
    disturb(tuning.adapters(encoder, dim=3, placement=placement, activation="relu"))
    block = encoder.get_layer("layer_0")
    assert [name for name in PLACES["houlsby"] if getattr(block, name)] == [*PLACES[placement]]
    x = np.random.default_rng(1).normal(size=(2, 3, 6)).astype("float32")
    context = {"attention_mask": np.ones((2, 1, 1, 3), bool)}

    def attend(y):
        y = numpy(block.attention(y.astype("float32"), context))
        return adapt(block, "attention_adapter", y)

    def feed_forward(y):
        return adapt(block, "feed_forward_adapter", numpy(block.feed_forward(y.astype("float32"))))

    if norm_placement == "post":
        y = normalize(block.attention_norm, x + attend(x))
        y = normalize(block.feed_forward_norm, y + feed_forward(y))
    else:
        y = x + attend(normalize(block.attention_norm, x))
        y = y + feed_forward(normalize(block.feed_forward_norm, y))
    np.testing.assert_allclose(numpy(block(x, context)), y, atol=1e-4)


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_every_activation_may_stand_inside(activation):
    encoder = tuning.adapters(Encoder(CONFIG), dim=2, activation=activation)
    adapter = encoder.get_layer("layer_0").attention_adapter
    x = np.linspace(-3, 3, 5, dtype="float32")
    np.testing.assert_allclose(
        numpy(adapter.down.activation(x)), numpy(ACTIVATIONS[activation](x)), atol=1e-6
    )


def test_they_are_nearly_the_identity_at_the_start():
    model = classifier()
    before = logits_of(model)
    after = logits_of(tuning.adapters(model, dim=64))
    assert 0 < np.abs(after - before).max() < 1e-3


def test_houlsby_s_train_with_the_norms_and_the_head():
    model = disturb(tuning.adapters(classifier(), dim=3))
    norms = ["embeddings/norm"]
    norms += [f"layer_{i}/{part}_norm" for i in range(2) for part in ("attention", "feed_forward")]
    expected = {f"{norm}/{name}" for norm in norms for name in ("gamma", "beta")}
    expected |= adapters_of("houlsby") | {"head/output/kernel", "head/output/bias"}
    assert set(paths(model.trainable_variables)) == expected
    assert changed_by_a_step(model) == expected


def test_pfeiffer_s_train_with_the_head():
    model = disturb(tuning.adapters(classifier(), dim=3, placement="pfeiffer"))
    expected = adapters_of("pfeiffer") | {"head/output/kernel", "head/output/bias"}
    assert set(paths(model.trainable_variables)) == expected
    assert changed_by_a_step(model) == expected


def adapters_of(placement):
    return {
        f"layer_{i}/{place}/{part}"
        for i in range(2)
        for place in PLACES[placement]
        for part in PARTS
    }


def test_the_number_of_trained_parameters():
    """2md + d + m for each adapter (Houlsby et al., 2019, section 2.1)."""
    encoder = tiny_families.encoder_of("bert")
    tuning.adapters(encoder, dim=5)
    adapter, norm = 2 * 5 * 12 + 12 + 5, 2 * 12
    trained = sum(int(np.prod(v.shape)) for v in encoder.trainable_variables)
    assert trained == 2 * 2 * adapter + (1 + 2 * 2) * norm


def test_inside_a_bottleneck_they_have_its_width():
    encoder = tiny_families.encoder_of("mobilebert")
    disturb(tuning.adapters(encoder, dim=3))
    assert (
        encoder.get_layer("layer_1").feed_forward_adapter.up.units == encoder.config.bottleneck.dim
    )


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"dim": 0}, r"`dim` must be an integer >= 1\. Received: dim=0"),
        ({"placement": "parallel"}, r"`placement` must be one of \['houlsby', 'pfeiffer'\]"),
        ({"activation": "swish"}, r"`activation` must be one of .*Received: activation='swish'"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        tuning.adapters(classifier(), **settings)
