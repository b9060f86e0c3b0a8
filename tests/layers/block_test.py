"""Feed-forward layers and blocks against their formulas, in NumPy."""

import math

import numpy as np
import pytest
from keras import ops

from kerasbert import EncoderConfig
from kerasbert.layers import ACTIVATIONS, EncoderBlock, FeedForward, activation

CONFIG = EncoderConfig(
    vocabulary_size=9,
    num_layers=1,
    num_heads=2,
    hidden_dim=6,
    intermediate_dim=10,
    hidden_dropout=0.0,
    norm_epsilon=1e-3,
)
erf = np.vectorize(math.erf)
FORMULAS = {
    "gelu": lambda x: 0.5 * x * (1 + erf(x / np.sqrt(2))),
    # Hendrycks & Gimpel, 2016, section 2
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))),
    "relu": lambda x: np.maximum(x, 0),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "linear": lambda x: x,
}


def randomized(layer, *shapes):
    layer.build(*shapes)
    draw = np.random.default_rng(0)
    for variable in layer.weights:
        variable.assign(draw.normal(0.1, 0.6, variable.shape))
    return layer


def dense(layer, x):
    y = x @ ops.convert_to_numpy(layer.kernel)
    return y if layer.bias is None else y + ops.convert_to_numpy(layer.bias)


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(1).normal(size=(2, 3, 6)).astype("float32")


def test_every_activation_has_its_formula_here():
    assert set(FORMULAS) == set(ACTIVATIONS)


@pytest.mark.parametrize("name", FORMULAS)
def test_activations(name):
    x = np.linspace(-4, 4, 33, dtype="float32")
    found = ops.convert_to_numpy(activation(name)(ops.convert_to_tensor(x)))
    np.testing.assert_allclose(found, FORMULAS[name](x), atol=2e-6)


@pytest.mark.parametrize("use_bias", [True, False])
@pytest.mark.parametrize("gated", [False, True])
def test_the_feed_forward_layer(x, gated, use_bias):
    config = CONFIG.replace(gated_feed_forward=gated, use_bias=use_bias, activation="silu")
    layer = randomized(FeedForward(config), (None, None, 6))
    y = FORMULAS["silu"](dense(layer.intermediate, x))
    if gated:
        y = y * dense(layer.gate, x)  # Shazeer, 2020, equation 6
    expected = dense(layer.projection, y)
    np.testing.assert_allclose(ops.convert_to_numpy(layer(x)), expected, atol=1e-4)
    assert len(layer.weights) == (3 if gated else 2) * (2 if use_bias else 1)


def normalize(layer, x):
    y = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    return y * ops.convert_to_numpy(layer.gamma) + ops.convert_to_numpy(layer.beta)


@pytest.mark.parametrize("placement", ["post", "pre"])
def test_norms_stand_after_each_sum_or_before_each_part(x, placement):
    block = randomized(EncoderBlock(CONFIG.replace(norm_placement=placement)), (None, None, 6))
    context = {"attention_mask": np.ones((2, 1, 1, 3), bool)}

    def attend(y):
        return ops.convert_to_numpy(block.attention(ops.convert_to_tensor(y, "float32"), context))

    def feed_forward(y):
        return ops.convert_to_numpy(block.feed_forward(ops.convert_to_tensor(y, "float32")))

    if placement == "post":
        y = normalize(block.attention_norm, x + attend(x))
        y = normalize(block.feed_forward_norm, y + feed_forward(y))
    else:
        y = x + attend(normalize(block.attention_norm, x))
        y = y + feed_forward(normalize(block.feed_forward_norm, y))
    found = ops.convert_to_numpy(block(ops.convert_to_tensor(x), context))
    np.testing.assert_allclose(found, y, atol=1e-4)


def test_dropout_comes_from_the_configuration(x):
    block = randomized(EncoderBlock(CONFIG.replace(hidden_dropout=0.5)), (None, None, 6))
    context = {"attention_mask": np.ones((2, 1, 1, 3), bool)}
    first, second = (
        ops.convert_to_numpy(block(ops.convert_to_tensor(x), context, training=True))
        for _ in range(2)
    )
    assert np.abs(first - second).max() > 1e-3
