"""Prefix tuning against the formula of attention with more keys and values."""

import keras
import numpy as np
import pytest
from keras import ops

from kerasbert import Encoder, EncoderConfig, trace, tuning
from kerasbert.layers import AttentionMask
from tests.models import tiny_families
from tests.tuning.tuned_models import (
    STILL,
    changed_by_a_step,
    classifier,
    disturb,
    numpy,
    paths,
)

CONFIG = EncoderConfig(
    vocabulary_size=9, num_layers=1, num_heads=3, hidden_dim=12, intermediate_dim=8, **STILL
)
PADDING = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0]], "int32")


def attention_of(config, length=2):
    encoder = disturb(tuning.prefixes(Encoder(config), length))
    attention = encoder.get_layer("layer_0").attention
    draw = np.random.default_rng(5)
    for variable in attention.weights:
        variable.assign(draw.normal(0, 0.5, variable.shape))
    return attention


def formula(layer, x, mask):
    """softmax(Q [P_k; K]^T / sqrt(d)) [P_v; V] for each head (Li & Liang, 2021, section 4)."""

    def heads(dense, prefix=None):
        y = x @ numpy(dense.kernel) + numpy(dense.bias)
        y = y.reshape(3, 5, 3, 4)
        if prefix is not None:
            y = np.concatenate((np.repeat(numpy(prefix)[None], 3, axis=0), y), axis=1)
        return y.transpose(0, 2, 1, 3)

    query = heads(layer.query)
    key, value = heads(layer.key, layer.prefix.keys), heads(layer.value, layer.prefix.values)
    mask = np.pad(mask, ((0, 0), (0, 0), (layer.prefix.length, 0)), constant_values=True)
    scores = query @ key.transpose(0, 1, 3, 2) / np.sqrt(4)
    exponents = np.where(mask[:, None], np.exp(scores), 0)
    weights = exponents / exponents.sum(-1, keepdims=True)
    y = (weights @ value).transpose(0, 2, 1, 3).reshape(3, 5, 12)
    return y @ numpy(layer.projection.kernel) + numpy(layer.projection.bias), scores


@pytest.mark.parametrize("causal", [False, True])
def test_attention_sees_the_prefix_before_the_tokens(causal):
    attention = attention_of(CONFIG.replace(causal=causal))
    x = np.random.default_rng(1).normal(size=(3, 5, 12)).astype("float32")
    context = {"attention_mask": AttentionMask(causal)(PADDING)}
    mask = np.repeat(PADDING[:, None].astype(bool), 5, axis=1)
    mask &= np.tril(np.ones((5, 5), bool)) if causal else True
    mask |= ~mask.any(-1, keepdims=True)
    expected, scores = formula(attention, x, mask)
    np.testing.assert_allclose(numpy(attention(x, context)), expected, atol=1e-5)
    with trace("attention_scores") as record:
        plain = attention(x, context)
    np.testing.assert_allclose(numpy(plain), expected, atol=1e-5)
    np.testing.assert_allclose(numpy(record["attention_scores"][0]), scores, atol=1e-5)


@pytest.mark.parametrize("family", ["mpnet", "deberta-v2"])
def test_keys_of_the_prefix_have_no_position(family):
    """Scores of tokens with tokens are what they were; those with the prefix are products alone."""
    encoder = tiny_families.encoder_of(family, num_layers=1)
    batch = tiny_families.batch_of((8, 5))
    with trace("attention_scores", "queries") as before:
        encoder(batch)
    disturb(tuning.prefixes(encoder, 3))
    with trace("attention_scores") as after:
        encoder(batch)
    attention = encoder.get_layer("layer_0").attention
    scores = numpy(after["attention_scores"][0])
    np.testing.assert_allclose(scores[..., 3:], numpy(before["attention_scores"][0]), atol=1e-4)
    query, keys = numpy(before["queries"][0]), numpy(attention.prefix.keys)
    expected = np.einsum("btnh,lnh->bntl", query, keys) * attention.scale
    np.testing.assert_allclose(scores[..., :3], expected, atol=1e-4)


def test_only_the_prefixes_and_the_head_are_trained():
    model = disturb(tuning.prefixes(classifier(), length=4))
    expected = {
        f"layer_{i}/attention/prefix/{name}" for i in range(2) for name in ("keys", "values")
    }
    expected |= {"head/output/kernel", "head/output/bias"}
    assert set(paths(model.trainable_variables)) == expected
    assert changed_by_a_step(model) == expected
    count = sum(int(np.prod(v.shape)) for v in model.backbone.trainable_variables)
    assert count == 2 * 2 * 4 * 12  # layers, keys and values, length, width


@pytest.mark.parametrize("family", ["bert", "albert", "mobilebert"])
def test_they_start_from_keys_and_values_of_real_tokens(family):
    encoder = tiny_families.encoder_of(family)
    tuning.prefixes(encoder, length=30)  # more than the longest input, 24
    for block in (encoder.get_layer("layer_0"), encoder.last_block):
        for values in (block.attention.prefix.keys, block.attention.prefix.values):
            values = numpy(values)
            assert np.isfinite(values).all()
            assert values.std(axis=0).min() > 0
            np.testing.assert_array_equal(values[24:], values[:6])


def test_a_row_without_real_tokens_stays_finite_in_half_precision():
    encoder = disturb(tuning.prefixes(tiny_families.encoder_of("bert", dtype="float16"), 4))
    outputs = encoder(tiny_families.batch_of((8, 0)))
    assert np.isfinite(numpy(outputs["sequence_output"])).all()


@pytest.mark.parametrize("family", ["longformer", "big_bird", "modernbert"])
def test_sparse_attention_is_refused(family):
    model = classifier(family)
    with pytest.raises(ValueError, match=r"`prefixes` needs full attention.*`lora` or `adapters`"):
        tuning.prefixes(model)
    assert model.backbone.additions == ()


@pytest.mark.parametrize("length", [0, 2.5])
def test_a_length_must_be_a_positive_integer(length):
    with pytest.raises(
        ValueError, match=f"`length` must be an integer >= 1. Received: length={length}"
    ):
        tuning.prefixes(classifier(), length)


def test_the_start_is_reproducible():
    starts = []
    for _ in range(2):
        keras.utils.set_random_seed(4)
        encoder = tuning.prefixes(tiny_families.encoder_of("bert"), 3)
        starts.append(ops.convert_to_numpy(encoder.get_layer("layer_1").attention.prefix.keys))
    np.testing.assert_array_equal(*starts)
