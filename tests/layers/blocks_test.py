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


@pytest.mark.parametrize("pattern", [Blocks(4, 2), Blocks(4, 2, seed=3), Blocks(7, 0)])
@pytest.mark.parametrize("length", [1, 35, 36, 37, 119])
def test_outputs_are_those_of_the_formula(pattern, length, heads, formula, run_compiled):
    layer = blocks_layer(pattern)
    query, key, value, padding_mask = heads(length)
    size = pattern.block_size
    counts = np.ones((1, 2, length, length))
    if length > (5 + 2 * pattern.random_blocks) * size:
        counts = counts_of_blocks(layer, -(-length // size))
        counts = counts.repeat(size, axis=1).repeat(size, axis=2)[None, :, :length, :length]
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


@pytest.fixture
def assert_equal_to_big_bird(run_inside, run_compiled, copy_dense):
    """Compare our self-attention at real positions, before the projection of its output."""

    def check(theirs, pattern, length):
        mask = np.ones((3, length), "int32")
        mask[0, length // 3 :] = 0
        mask[1, : length // 2] = 0
        ids = np.random.default_rng(length).integers(1, 50, (3, length))
        module = theirs.encoder.layer[0].attention
        (expected, x), _ = run_inside(theirs, module.output, input_ids=ids, attention_mask=mask)

        layer = SelfAttention(CONFIG.replace(attention=pattern))
        layer.build((None, None, 8))
        for name in ("query", "key", "value"):
            copy_dense(getattr(module.self, name), getattr(layer, name))
        layer.projection.kernel.assign(np.eye(8))
        layer.projection.bias.assign(np.zeros(8))
        x = x[:, :length]
        found = run_compiled(lambda x, mask: layer(x, {"padding_mask": mask}), x, mask)
        real = mask == 1
        np.testing.assert_allclose(found[real], expected[:, :length][real], atol=1e-5)

    return check


@pytest.mark.parametrize(
    ("block_size", "random_blocks", "length"),
    [(4, 2, 36), (4, 2, 37), (4, 2, 119), (3, 3, 60), (7, 1, 50)],
)
def test_inference_is_that_of_big_bird(block_size, random_blocks, length, assert_equal_to_big_bird):
    theirs = big_bird(block_size, random_blocks)
    assert_equal_to_big_bird(theirs, Blocks(block_size, random_blocks), length)


@pytest.mark.parametrize("length", [40, 119])
def test_the_same_random_blocks_give_the_outputs_of_big_bird(
    length, assert_equal_to_big_bird, monkeypatch
):
    pattern = Blocks(4, random_blocks=2, seed=11)
    blocks = -(-length // 4)
    counts = counts_of_blocks(blocks_layer(pattern), blocks) - counts_without_random(blocks)
    ours = [np.argwhere(head > 0.5)[:, 1].reshape(blocks - 2, 2) for head in counts]
    monkeypatch.setattr(
        BigBirdBlockSparseAttention, "_bigbird_block_rand_mask_with_head", lambda *_, **__: ours
    )
    assert_equal_to_big_bird(big_bird(4, 2), pattern, length)


@pytest.mark.parametrize("seed", [None, 0])
def test_cost_grows_linearly_with_length(seed, heads, count_scores):
    layer = blocks_layer(Blocks(16, 3, seed), config=CONFIG.replace(max_sequence_length=4096))

    def cost(length):
        query, key, value, padding_mask = heads(length)
        context = {"padding_mask": padding_mask}
        return count_scores(lambda: layer(query, query, key, value, context))

    assert cost(2048) <= 2.1 * cost(1024)


@pytest.mark.parametrize(
    ("dtype", "training"),
    [("float32", False), ("bfloat16", False), ("float16", False), ("float16", True)],
)
@pytest.mark.parametrize("seed", [None, 0])
def test_rows_without_real_tokens_give_finite_outputs_and_gradients(
    heads, gradients, dtype, training, seed
):
    query, key, value, padding_mask = heads(50)
    padding_mask[0] = 0
    config = CONFIG.replace(attention_dropout=0.5)
    layer = blocks_layer(Blocks(4, 2, seed), config=config, dtype=dtype)

    def loss(*arrays):
        query, key, value = (ops.cast(array, dtype) for array in arrays)
        y = layer(query, query, key, value, {"padding_mask": padding_mask}, training=training)
        return ops.mean(ops.square(ops.cast(y, "float32") - 0.5))

    for found in gradients(loss, 30 * query, 30 * key, value):
        assert np.isfinite(found).all()


def test_weights_are_dropped_in_training_alone(heads):
    query, key, value, padding_mask = heads(50)
    layer = blocks_layer(Blocks(4, 2), config=CONFIG.replace(attention_dropout=0.5))

    def run(training):
        context = {"padding_mask": padding_mask}
        return ops.convert_to_numpy(layer(query, query, key, value, context, training=training))

    np.testing.assert_array_equal(run(False), run(False))
    assert np.abs(run(True) - run(True)).max() > 1e-2


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
