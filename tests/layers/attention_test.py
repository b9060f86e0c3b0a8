"""Self-attention and its mask against the formula, in NumPy."""

import keras
import numpy as np
import pytest
from keras import ops

from kerasbert import EncoderConfig, trace
from kerasbert.layers import AttentionMask, SelfAttention

CONFIG = EncoderConfig(
    vocabulary_size=9,
    num_layers=1,
    num_heads=3,
    hidden_dim=12,
    intermediate_dim=8,
    attention_dropout=0.5,
)
PADDING = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1], [0, 0, 0, 0, 0]], "int32")


def numpy_mask(padding_mask, causal):
    allowed = np.repeat(padding_mask[:, None, :].astype(bool), padding_mask.shape[1], axis=1)
    return allowed & np.tril(np.ones(allowed.shape[1:], bool)) if causal else allowed


@pytest.mark.parametrize("causal", [False, True])
def test_a_query_sees_the_real_tokens_and_under_a_causal_mask_none_after_it(causal):
    found = ops.convert_to_numpy(AttentionMask(causal)(PADDING))
    found = np.broadcast_to(found[:, 0], (3, 5, 5))
    expected = numpy_mask(PADDING, causal)
    sees_something = expected.any(-1)
    np.testing.assert_array_equal(found[sees_something], expected[sees_something])
    assert found[~sees_something].all()  # everything instead of nothing: a finite softmax


@pytest.fixture(scope="module")
def attention():
    layer = SelfAttention(CONFIG)
    layer.build((None, None, 12))
    draw = np.random.default_rng(0)
    for variable in layer.weights:
        variable.assign(draw.normal(0, 0.5, variable.shape))
    return layer


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).normal(size=(3, 5, 12)).astype("float32")


def formula(layer, x, mask):
    """softmax(Q K^T / sqrt(d)) V for each head (Vaswani et al., 2017, section 3.2)."""

    def project(dense, y):
        return y @ ops.convert_to_numpy(dense.kernel) + ops.convert_to_numpy(dense.bias)

    heads = [
        project(dense, x).reshape(3, 5, 3, 4).transpose(0, 2, 1, 3)
        for dense in (layer.query, layer.key, layer.value)
    ]
    scores = heads[0] @ heads[1].transpose(0, 1, 3, 2) / np.sqrt(4)
    exponents = np.where(mask[:, None], np.exp(scores), 0)
    weights = exponents / exponents.sum(-1, keepdims=True)
    y = (weights @ heads[2]).transpose(0, 2, 1, 3).reshape(3, 5, 12)
    return project(layer.projection, y), scores, weights


@pytest.mark.parametrize("causal", [False, True])
def test_the_fused_and_the_plain_path_compute_the_formula(attention, x, causal):
    context = {"attention_mask": AttentionMask(causal)(PADDING)}
    fused = attention(x, context)
    with trace("attention_scores", "attention_weights") as record:
        plain = attention(x, context)
    mask = numpy_mask(PADDING, causal)
    mask |= ~mask.any(-1, keepdims=True)
    expected, scores, weights = formula(attention, x, mask)
    np.testing.assert_allclose(ops.convert_to_numpy(fused), expected, atol=1e-5)
    np.testing.assert_allclose(ops.convert_to_numpy(plain), expected, atol=1e-5)
    (found_scores,), (found_weights,) = record["attention_scores"], record["attention_weights"]
    np.testing.assert_allclose(ops.convert_to_numpy(found_scores), scores, atol=1e-5)
    np.testing.assert_allclose(ops.convert_to_numpy(found_weights), weights, atol=1e-6)


def test_the_fused_path_runs_unless_weights_are_dropped_or_traced(attention, x, monkeypatch):
    calls = []
    original = ops.dot_product_attention

    def spy(*args, **kwargs):
        calls.append(1)
        return original(*args, **kwargs)

    monkeypatch.setattr(ops, "dot_product_attention", spy)
    context = {"attention_mask": AttentionMask()(PADDING)}
    monkeypatch.setattr(attention, "_has_fused", True)
    attention(x, context)
    assert len(calls) == 1  # though the configured dropout is not zero
    with trace("hidden_states", "queries"):
        attention(x, context)
    assert len(calls) == 2
    attention(x, context, training=True)
    with trace("attention_weights"):
        attention(x, context)
    assert len(calls) == 2


def test_in_training_whole_weights_are_dropped(attention, x):
    context = {"attention_mask": AttentionMask()(np.ones((3, 5), "int32"))}
    outputs = [ops.convert_to_numpy(attention(x, context, training=True)) for _ in range(2)]
    assert np.abs(outputs[0] - outputs[1]).max() > 1e-3


@pytest.mark.parametrize("use_bias", [True, False])
def test_biases_are_there_if_wanted(use_bias):
    layer = SelfAttention(CONFIG.replace(use_bias=use_bias))
    layer.build((None, None, 12))
    kinds = [variable.path.split("/")[-1] for variable in layer.weights]
    assert kinds.count("kernel") == 4
    assert kinds.count("bias") == (4 if use_bias else 0)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_large_scores_stay_finite_in_half_precision(x, dtype):
    layer = SelfAttention(CONFIG, dtype=dtype)
    layer.build((None, None, 12))
    context = {"attention_mask": AttentionMask()(PADDING)}
    big = ops.cast(x * 10, dtype)
    with trace("attention_weights"):
        plain = layer(big, context)
    for y in (layer(big, context), plain):
        assert np.isfinite(ops.convert_to_numpy(ops.cast(y, "float32"))).all()


def test_the_parts_are_named_as_kerashub_finds_them(attention):
    assert isinstance(attention.query, keras.layers.Dense)
    names = {variable.path.split("/")[-2] for variable in attention.weights}
    assert names == {"query", "key", "value", "output"}
