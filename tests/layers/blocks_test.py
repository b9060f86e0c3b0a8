"""Block-sparse attention: the formula in NumPy, and BigBird's module of `transformers`."""

import numpy as np
import pytest
import torch
import transformers
from keras import ops
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention

from kerasbert.layers import Blocks, EncoderConfig, RelativeBias, SelfAttention

CONFIG = EncoderConfig(
    vocabulary_size=50,
    num_layers=2,
    num_heads=2,
    hidden_dim=8,
    intermediate_dim=8,
    max_sequence_length=120,
    attention_dropout=0.0,
)


def blocks_layer(pattern, index=0, config=CONFIG, **kwargs):
    layer = pattern.layer(config.replace(attention=pattern), index, **kwargs)
    layer.build((None, None, 8))
    return layer


def counts_of_blocks(layer, blocks, training=False):
    """How often each block of queries counts each block of keys (N, K, K), read off the output:
    all scores are equal, and the values of key block j are the unit vector e_j."""
    size, length = layer.block_size, blocks * layer.block_size
    value = np.repeat(np.eye(blocks, dtype="float32"), size, axis=0)  # (T, K)
    value = np.repeat(value[None, :, None], 2, axis=2)
    zeros = np.zeros((1, length, 2, blocks), "float32")
    context = {"padding_mask": np.ones((1, length), "int32")}
    y = ops.convert_to_numpy(layer(zeros, zeros, zeros, value, context, training=training))
    weights = y[0].transpose(1, 0, 2)[:, ::size]  # (N, K, K)
    return weights / weights[:, :, -1:]  # the last block is seen once


def counts_without_random(blocks):
    counts = np.abs(np.arange(blocks)[:, None] - np.arange(blocks)) <= 1
    counts[[0, -1]] = counts[:, [0, -1]] = True
    return counts.astype("float32")


def test_without_a_seed_the_first_block_counts_for_the_random_ones():
    found = counts_of_blocks(blocks_layer(Blocks(4, random_blocks=2)), 12)
    expected = counts_without_random(12)
    expected[1:-1, 0] += 2
    np.testing.assert_allclose(found, np.stack([expected] * 2), atol=1e-4)


@pytest.mark.parametrize("blocks", [12, 13, 30])
def test_with_a_seed_each_block_sees_as_many_others_besides(blocks):
    layers = [blocks_layer(Blocks(4, random_blocks=3, seed=5), index) for index in (0, 0, 1)]
    layers.append(blocks_layer(Blocks(4, random_blocks=3, seed=6)))
    found, again, of_next_layer, of_other_seed = (counts_of_blocks(x, blocks) for x in layers)
    random = found - counts_without_random(blocks)
    np.testing.assert_allclose(random, random > 0.5, atol=1e-4)  # none that is seen already
    assert (np.round(random.sum(-1))[:, 1:-1] == 3).all()
    np.testing.assert_array_equal(found, counts_of_blocks(layers[0], blocks, training=True))
    np.testing.assert_array_equal(found, again)
    for other in (of_next_layer, of_other_seed, found[::-1]):  # heads differ too
        assert np.abs(other - found).max() > 0.5


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("length", [1, 29, 36, 37, 50, 119])
def test_outputs_are_those_of_the_formula(seed, length, heads, formula, run_compiled):
    layer = blocks_layer(Blocks(4, random_blocks=2, seed=seed))
    query, key, value, padding_mask = heads(length)
    blocks = -(-length // 4)
    counts = np.ones((1, 2, length, length))
    if length > (5 + 2 * 2) * 4:
        counts = counts_of_blocks(layer, blocks)
        counts = counts.repeat(4, axis=1).repeat(4, axis=2)[None, :, :length, :length]
    expected = formula(query, key, value, counts * padding_mask[:, None, None, :])
    found = run_compiled(
        lambda q, k, v, mask: layer(q, q, k, v, {"padding_mask": mask}),
        query,
        key,
        value,
        padding_mask,
    )
    real = padding_mask.astype(bool)
    np.testing.assert_allclose(found[real], expected[real], atol=1e-5)
    assert np.isfinite(found).all()


def big_bird(block_size, random_blocks):
    torch.manual_seed(0)
    config = transformers.BigBirdConfig(
        vocab_size=50,
        hidden_size=8,
        num_attention_heads=2,
        num_hidden_layers=1,
        intermediate_size=8,
        max_position_embeddings=120,
        block_size=block_size,
        num_random_blocks=random_blocks,
        hidden_dropout_prob=0.0,
        pad_token_id=0,
    )
    model = transformers.BigBirdModel(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    return model.eval()


def check_against_big_bird(theirs, pattern, length, run_inside, copy_dense):
    """Compare the outputs of the self-attention of both at real positions."""
    draw = np.random.default_rng(length)
    mask = np.ones((3, length), "int32")
    mask[0, length // 3 :] = 0
    mask[1, : length // 2] = 0
    layer = SelfAttention(CONFIG.replace(attention=pattern))
    layer.build((None, None, 8))
    module = theirs.encoder.layer[0].attention
    for name in ("query", "key", "value"):
        copy_dense(getattr(module.self, name), getattr(layer, name))
    copy_dense(module.output.dense, layer.projection)
    ids = draw.integers(1, 50, (3, length))
    x, _ = run_inside(theirs, module, input_ids=ids, attention_mask=mask)
    _, expected = run_inside(theirs, module.output.dense, input_ids=ids, attention_mask=mask)
    ...


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"block_size": 0}, "block_size=0"),
        ({"random_blocks": -1}, "random_blocks=-1"),
        ({"seed": -1}, "seed=-1"),
    ],
)
def test_senseless_blocks_are_errors_that_name_the_field(fields, message):
    with pytest.raises(ValueError, match=message):
        Blocks(**fields)


def test_positions_that_add_to_the_scores_are_an_error():
    with pytest.raises(ValueError, match="add to the scores"):
        CONFIG.replace(attention=Blocks(), position=RelativeBias())


def test_configurations_survive_the_round_trip():
    config = CONFIG.replace(attention=Blocks(16, random_blocks=2, seed=1))
    assert EncoderConfig.from_dict(config.to_dict()) == config
