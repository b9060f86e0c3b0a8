"""The convolution beside the first block against that of `transformers`."""

import numpy as np
import pytest
import torch
import transformers
from keras import ops
from transformers.models.deberta_v2.modeling_deberta_v2 import ConvLayer

from kerasbert.layers import AttentionMask, Convolution, EncoderBlock, EncoderConfig
from kerasbert.layers.convolution import ConvolutionBranch

WIDTH, LENGTH = 12, 7
THEIR_NAMES = {"gelu_tanh": "gelu_pytorch_tanh"}
PADDING = np.array([[1, 1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 1, 1, 1], [1] * 7, [1] + [0] * 6], "int32")


def encoder_config(**facts):
    return EncoderConfig(
        vocabulary_size=9,
        num_layers=2,
        num_heads=2,
        hidden_dim=WIDTH,
        intermediate_dim=8,
        norm_epsilon=1e-3,
        convolution=Convolution(**facts),
    )


def draw(seed):
    return np.random.default_rng(seed).normal(size=(4, LENGTH, WIDTH)).astype("float32")


def branch_like(theirs, config, dtype=None):
    branch = ConvolutionBranch(config, dtype=dtype)
    branch.build((None, None, WIDTH))
    branch.convolution.kernel.assign(theirs.conv.weight.detach().numpy().T)
    branch.convolution.bias.assign(theirs.conv.bias.detach().numpy())
    branch.norm.gamma.assign(theirs.LayerNorm.weight.detach().numpy())
    branch.norm.beta.assign(theirs.LayerNorm.bias.detach().numpy())
    return branch


def their_layer(kernel_size=3, groups=1, activation="tanh"):
    config = transformers.DebertaV2Config(
        hidden_size=WIDTH,
        layer_norm_eps=1e-3,
        conv_kernel_size=kernel_size,
        conv_groups=groups,
        conv_act=THEIR_NAMES.get(activation, activation),
    )
    layer = ConvLayer(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_(0.2, 0.5, generator=generator)
    return layer


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"activation": "gelu"},
        {"kernel_size": 5, "activation": "gelu_tanh"},
        {"kernel_size": 1, "groups": 3},
        {"kernel_size": 9, "groups": 2, "activation": "relu"},
    ],
)
def test_the_branch_computes_what_that_of_transformers_does(facts):
    theirs = their_layer(**facts)
    x, y = draw(1), draw(2)
    with torch.no_grad():
        # There, padding is set to zero in the embeddings, which are what it convolves.
        masked = torch.tensor(x) * torch.tensor(PADDING[..., None])
        expected = theirs(masked, torch.tensor(y), torch.tensor(PADDING)).numpy()
    found = ops.convert_to_numpy(branch_like(theirs, encoder_config(**facts))(x, y, PADDING))
    real = PADDING.astype(bool)
    np.testing.assert_allclose(found[real], expected[real], atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_stays_near(dtype):
    theirs = their_layer()
    x, y = draw(1), draw(2)
    full, half = (
        ops.convert_to_numpy(
            ops.cast(branch(ops.cast(x, kind), ops.cast(y, kind), PADDING), "float32")
        )
        for kind in ("float32", dtype)
        for branch in [branch_like(theirs, encoder_config(), kind)]
    )
    np.testing.assert_allclose(half, full, atol=0.1)


def test_only_the_first_block_has_one_and_its_padding_changes_nothing():
    config = encoder_config()
    blocks = [EncoderBlock(config, index) for index in range(2)]
    for block in blocks:
        block.build((None, None, WIDTH))
    paths = [{path.split("/")[-3] for path in paths_of(block)} for block in blocks]
    assert ["convolution" in names for names in paths] == [True, False]

    x, other = draw(1), draw(1)
    other[PADDING == 0] = 5.0
    context = {"attention_mask": AttentionMask()(PADDING), "padding_mask": PADDING}
    found, again = (ops.convert_to_numpy(blocks[0](states, context)) for states in (x, other))
    real = PADDING.astype(bool)
    np.testing.assert_allclose(found[real], again[real], atol=1e-5)


def paths_of(block):
    return [f"/{variable.path}" for variable in block.weights]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"kernel_size": 4}, "kernel_size=4"),
        ({"kernel_size": -1}, "kernel_size=-1"),
        ({"groups": 0}, "groups=0"),
        ({"activation": "cubic"}, "cubic"),
    ],
)
def test_senseless_convolutions_are_refused(facts, message):
    with pytest.raises(ValueError, match=message):
        Convolution(**facts)
