"""Disentangled attention against that of `transformers`, on tiny random layers."""

import keras
import numpy as np
import pytest
import torch
import transformers
from keras import ops
from transformers.models.deberta import modeling_deberta
from transformers.models.deberta_v2 import modeling_deberta_v2

from kerasbert.layers import (
    Absolute,
    AttentionMask,
    Bottleneck,
    Disentangled,
    EncoderBlock,
    EncoderConfig,
)
from kerasbert.layers.disentangled import log_bucket

WIDTH, HEADS, LONGEST, LENGTH = 36, 3, 40, 12
BOTH = ("c2p", "p2c")
SIZES = {
    "vocab_size": 9,
    "hidden_size": WIDTH,
    "num_attention_heads": HEADS,
    "num_hidden_layers": 1,
    "intermediate_size": 50,
    "max_position_embeddings": LONGEST,
    "relative_attention": True,
    "position_biased_input": False,
}


def encoder_config(position, **changes):
    return EncoderConfig(
        vocabulary_size=9,
        num_layers=1,
        num_heads=HEADS,
        hidden_dim=WIDTH,
        intermediate_dim=50,
        max_sequence_length=LONGEST,
        norm_epsilon=1e-7,
        position=position,
        **changes,
    )


def theirs_v1(terms=BOTH, max_distance=None):
    config = transformers.DebertaConfig(
        **SIZES, pos_att_type=list(terms), max_relative_positions=max_distance or -1
    )
    return modeling_deberta.DebertaEncoder(config)


def theirs_v2(terms=BOTH, max_distance=None, buckets=None, shared=False, normalize=False):
    config = transformers.DebertaV2Config(
        **SIZES,
        pos_att_type=list(terms),
        max_relative_positions=max_distance or -1,
        position_buckets=buckets or -1,
        share_att_key=shared,
        norm_rel_ebd="layer_norm" if normalize else "none",
    )
    return modeling_deberta_v2.DebertaV2Encoder(config)


def ours_v1(terms=BOTH, max_distance=None):
    position = Disentangled(None, max_distance, terms, False, False, key_bias=False)
    return encoder_config(position)


def ours_v2(terms=BOTH, max_distance=None, buckets=None, shared=False, normalize=False):
    return encoder_config(Disentangled(buckets, max_distance, terms, shared, normalize))


def v1_projections(attention):
    """Queries, keys and values of each head stand together: (N, 3, H, D)."""
    whole = attention.in_proj.weight.detach().reshape(HEADS, 3, WIDTH // HEADS, WIDTH)
    query, key, value = (whole[:, part].reshape(WIDTH, WIDTH) for part in range(3))
    return {
        "query": (query, attention.q_bias),
        "key": (key, None),
        "value": (value, attention.v_bias),
        "position_key": named(attention, "pos_proj"),
        "position_query": named(attention, "pos_q_proj"),
    }


def v2_projections(attention):
    parts = {name: named(attention, f"{name}_proj") for name in ("query", "key", "value")}
    parts["position_key"] = named(attention, "pos_key_proj")
    parts["position_query"] = named(attention, "pos_query_proj")
    return parts


def named(module, name):
    layer = getattr(module, name, None)
    return None if layer is None else (layer.weight, layer.bias)


def values_by_path(theirs, projections):
    layer = theirs.layer[0]
    dense = {
        **{f"attention/{name}": part for name, part in projections(layer.attention.self).items()},
        "attention/output": named(layer.attention.output, "dense"),
        "feed_forward/intermediate": named(layer.intermediate, "dense"),
        "feed_forward/output": named(layer.output, "dense"),
    }
    norms = {
        "attention_norm": named(layer.attention.output, "LayerNorm"),
        "feed_forward_norm": named(layer.output, "LayerNorm"),
        "relative_positions/norm": named(theirs, "LayerNorm"),
    }
    values = {"relative_positions/table/embeddings": theirs.rel_embeddings.weight}
    for name, part in dense.items():
        if part is not None:
            values[f"{name}/kernel"], values[f"{name}/bias"] = part[0].T, part[1]
    for name, part in norms.items():
        if part is not None:
            values[f"{name}/gamma"], values[f"{name}/beta"] = part
    return {path: value.detach().numpy() for path, value in values.items() if value is not None}


class Ours:
    """One block and the positions that it shares with others, with the weights of theirs."""

    def __init__(self, config, dtype=None):
        self.positions = config.position.shared_layer(config, dtype=dtype)
        self.positions.build((None, None))
        self.block = EncoderBlock(config, dtype=dtype, name="block")
        self.block.build((None, None, WIDTH))

    def load(self, values):
        weights = {
            variable.path.removeprefix("block/"): variable
            for variable in (*self.positions.weights, *self.block.weights)
        }
        assert weights.keys() == values.keys()
        for path, variable in weights.items():
            variable.assign(values[path])
        return self

    def __call__(self, x, padding_mask, query_input=None):
        context = {
            "attention_mask": AttentionMask()(padding_mask),
            "positions": self.positions(padding_mask),
        }
        return self.block(x, context, query_input=query_input)


def pair_of(theirs, ours, projections):
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.normal_("Norm" in name, 0.4, generator=generator)
    return theirs.eval(), Ours(ours).load(values_by_path(theirs, projections))


KINDS = {
    "v1": (1, {}),
    "v1, content to position": (1, {"terms": ("c2p",)}),
    "v1, position to content": (1, {"terms": ("p2c",)}),
    "v1, distances up to 5": (1, {"max_distance": 5}),
    "v2 without buckets": (2, {}),
    "v2, 8 buckets": (2, {"buckets": 8, "normalize": True}),
    "v2, 7 buckets to 9, shared": (2, {"buckets": 7, "max_distance": 9, "shared": True}),
    "v2, 6 buckets, content to position": (2, {"buckets": 6, "terms": ("c2p",)}),
    "v2, position to content, shared": (
        2,
        {"buckets": 4, "terms": ("p2c",), "shared": True, "normalize": True},
    ),
    # Buckets that grow faster than distances do: rows far from the table's middle are near.
    "v2, 16 buckets to 12": (2, {"buckets": 16, "max_distance": 12}),
}


def make_pair(kind):
    version, options = KINDS[kind]
    if version == 1:
        return pair_of(theirs_v1(**options), ours_v1(**options), v1_projections)
    return pair_of(theirs_v2(**options), ours_v2(**options), v2_projections)


def states(length, seed=1):
    return np.random.default_rng(seed).normal(size=(3, length, WIDTH)).astype("float32")


def padding(length):
    """Rows with padding on the right, on the left, and without."""
    mask = np.ones((3, length), "int32")
    mask[0, max(1, length // 2) :] = 0
    mask[1, : length // 3] = 0
    return mask


@pytest.mark.parametrize("length", [1, 2, LENGTH, LONGEST])
@pytest.mark.parametrize("kind", KINDS)
def test_a_block_computes_what_the_one_of_transformers_does(kind, length):
    theirs, ours = make_pair(kind)
    x, mask = states(length), padding(length)
    with torch.no_grad():
        expected = theirs(torch.tensor(x), torch.tensor(mask)).last_hidden_state.numpy()
    real = mask.astype(bool)
    found = ops.convert_to_numpy(ours(x, mask))
    np.testing.assert_allclose(found[real], expected[real], atol=1e-5)


@pytest.mark.parametrize("kind", ["v2 without buckets", "v2, 7 buckets to 9, shared"])
def test_other_states_may_ask(kind):
    """The enhanced mask decoder: its queries, and its residual sum, are states of their own."""
    theirs, ours = make_pair(kind)
    x, mask = states(LENGTH), padding(LENGTH)
    pairs = torch.tensor(mask[:, None, None, :] * mask[:, None, :, None])
    expected, found = torch.tensor(states(LENGTH, seed=2)), states(LENGTH, seed=2)
    for _ in range(2):  # as often as the released code applies the last block
        with torch.no_grad():
            expected, _ = theirs.layer[0](
                torch.tensor(x),
                pairs,
                query_states=expected,
                relative_pos=theirs.get_rel_pos(torch.tensor(x)),
                rel_embeddings=theirs.get_rel_embedding(),
            )
        found = ours(x, mask, query_input=found)
    real = mask.astype(bool)
    np.testing.assert_allclose(ops.convert_to_numpy(found)[real], expected[real], atol=1e-5)


@pytest.mark.parametrize("max_distance", [9, 40, 59, 71, 128, 512, 513, 1024])
@pytest.mark.parametrize("buckets", [2, 3, 4, 7, 16, 31, 100, 128, 256])
def test_every_distance_has_the_bucket_of_transformers(buckets, max_distance):
    if buckets // 2 >= max_distance - 1:
        with pytest.raises(ValueError, match="must exceed"):
            encoder_config(Disentangled(buckets, max_distance)).replace(max_sequence_length=300)
        return
    distance = np.arange(-2 * max_distance, 2 * max_distance + 1)
    expected = modeling_deberta_v2.make_log_bucket_position(
        torch.tensor(distance), buckets, max_distance
    )
    np.testing.assert_array_equal(log_bucket(distance, buckets, max_distance), expected.numpy())


def test_buckets_beyond_the_longest_input_are_never_asked_for():
    config = encoder_config(Disentangled(2 * LONGEST))
    farthest = np.arange(1 - LONGEST, LONGEST)
    np.testing.assert_array_equal(config.position.rows(config)[1:-1], farthest + 2 * LONGEST)


def compiled(function):
    """`function(x, mask)` compiled as the backend does it, on TensorFlow for any length."""
    if keras.backend.backend() == "jax":
        import jax

        return jax.jit(function)
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        signature = [
            tf.TensorSpec((None, None, WIDTH), "float32"),
            tf.TensorSpec((None, None), "int32"),
        ]
        return tf.function(function, input_signature=signature)
    return function


@pytest.mark.parametrize("kind", ["v1, distances up to 5", "v2, 8 buckets", "v2, 16 buckets to 12"])
def test_one_compiled_function_serves_every_length(kind):
    _, ours = make_pair(kind)
    run = compiled(ours)
    for length in (1, 5, LENGTH, LONGEST):
        x, mask = states(length), padding(length)
        expected = ops.convert_to_numpy(ours(x, mask))
        np.testing.assert_allclose(ops.convert_to_numpy(run(x, mask)), expected, atol=1e-5)


@pytest.mark.parametrize(("length", "rows"), [(1, 1), (3, 5), (4, 7), (30, 7)])
def test_no_more_rows_are_projected_than_the_distances_need(length, rows):
    config = ours_v2(buckets=4)
    found, falling, rising = config.position.shared_layer(config)(np.ones((1, length), "int32"))
    assert found.shape == (rows, WIDTH)
    assert falling.shape == rising.shape == (2 * length,)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("kind", ["v1", "v2, 8 buckets", "v2, 7 buckets to 9, shared"])
def test_large_states_and_empty_rows_stay_finite_in_half_precision(kind, dtype):
    theirs, _ = make_pair(kind)
    version, options = KINDS[kind]
    config = ours_v1(**options) if version == 1 else ours_v2(**options)
    projections = v1_projections if version == 1 else v2_projections
    ours = Ours(config, dtype).load(values_by_path(theirs, projections))
    mask = padding(LENGTH)
    mask[0] = 0
    y = ours(ops.cast(30 * states(LENGTH), dtype), mask)
    assert np.isfinite(ops.convert_to_numpy(ops.cast(y, "float32"))).all()


def test_positions_are_dropped_out_in_training_with_the_rate_of_hidden_states():
    config = ours_v2(buckets=8).replace(hidden_dropout=0.5, attention_dropout=0.0)
    ours = Ours(config)
    mask = padding(LENGTH)
    context = {"attention_mask": AttentionMask()(mask), "positions": ours.positions(mask)}
    attention = ours.block.attention
    for variable in attention.weights:
        variable.assign(np.random.default_rng(0).normal(0, 0.5, variable.shape))
    first, second = (
        ops.convert_to_numpy(attention(states(LENGTH), context, training=True)) for _ in range(2)
    )
    assert np.abs(first - second).max() > 1e-3


def test_a_configuration_survives_its_dict():
    position = Disentangled(64, 128, ("p2c",), False, False, False, Absolute(offset=2))
    config = encoder_config(position)
    assert EncoderConfig.from_dict(config.to_dict()) == config


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"buckets": 1}, "buckets"),
        ({"max_distance": 0}, "max_distance"),
        ({"terms": ()}, "terms"),
        ({"terms": ("c2p", "c2p")}, "terms"),
        ({"terms": ("p2p",)}, "p2p"),
    ],
)
def test_senseless_positions_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Disentangled(**changes)


def test_positions_that_would_be_ignored_are_refused():
    with pytest.raises(ValueError, match="no bottleneck"):
        encoder_config(Disentangled(), bottleneck=Bottleneck(dim=12))
