"""Sliding windows and global tokens: the formula in NumPy, modules of ModernBERT and Longformer."""

import keras
import numpy as np
import pytest
import torch
import transformers
from keras import ops

from kerasbert.layers import EncoderConfig, Full, RelativeBias, Rotary, SelfAttention, Window

CONFIG = EncoderConfig(
    vocabulary_size=50, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=8
)


def window_layer(width, **kwargs):
    layer = Window(width).layer(CONFIG, 0, **kwargs)
    layer.build((None, None, 8))
    return layer


def within(length, reach):
    """Which keys a query sees (T, T)."""
    place = np.arange(length)
    return np.abs(place[:, None] - place) <= reach


@pytest.mark.parametrize("width", [1, 7, 300])
@pytest.mark.parametrize("length", [1, 129, 400])
def test_a_query_sees_the_real_keys_at_most_half_a_width_away(
    width, length, heads, formula, run_compiled
):
    query, key, value, padding_mask = heads(length)
    layer = window_layer(width)
    found = run_compiled(
        lambda q, k, v, mask: layer(q, q, k, v, {"padding_mask": mask}),
        query,
        key,
        value,
        padding_mask,
    )
    counts = within(length, width // 2) * padding_mask[:, None, None, :]
    expected = formula(query, key, value, counts)
    real = padding_mask.astype(bool)
    np.testing.assert_allclose(found[real], expected[real], atol=1e-5)
    assert np.isfinite(found).all()


def test_outputs_do_not_depend_on_the_padding(heads):
    query, key, value, _ = heads(130)
    layer = window_layer(40)

    def run(before, after):
        padding = ((0, 0), (before, after), (0, 0), (0, 0))
        mask = np.pad(np.ones((4, 130), "int32"), padding[:2])
        q, k, v = (np.pad(x, padding, constant_values=3.0) for x in (query, key, value))
        y = layer(q, q, k, v, {"padding_mask": mask})
        return ops.convert_to_numpy(y)[:, before : before + 130]

    for before, after in ((0, 1), (0, 200), (1, 0), (77, 50)):
        np.testing.assert_allclose(run(before, after), run(0, 0), atol=1e-6)


def test_cost_grows_linearly_with_length(heads, count_scores):
    layer = window_layer(64)

    def cost(length):
        query, key, value, padding_mask = heads(length)
        context = {"padding_mask": padding_mask}
        return count_scores(lambda: layer(query, query, key, value, context))

    assert cost(2048) == 2 * cost(1024)
    assert cost(1024) <= 1024 * 4 * 2 * 5 * 64 * 2  # B N T (C + width) for Q K^T, and less for V


@pytest.mark.parametrize(
    ("dtype", "training"),
    [("float32", False), ("bfloat16", False), ("float16", False), ("float16", True)],
)
@pytest.mark.parametrize("has_global_tokens", [False, True])
def test_rows_without_real_tokens_give_finite_outputs_and_gradients(
    heads, gradients, dtype, training, has_global_tokens
):
    query, key, value, padding_mask = heads(140)
    padding_mask[0] = 0
    pattern = Window(20, global_tokens=has_global_tokens)
    config = CONFIG.replace(attention=pattern, attention_dropout=0.5)
    layer = pattern.layer(config, 0, dtype=dtype)
    layer.build((None, None, 8))
    context = {"padding_mask": padding_mask, "global_mask": np.ones_like(padding_mask)}

    def loss(*arrays):
        query, key, value = (ops.cast(array, dtype) for array in arrays)
        x = ops.reshape(query, (4, 140, 8))
        y = layer(x, query, key, value, context, training=training)
        return ops.mean(ops.square(ops.cast(y, "float32") - 0.5))

    for found in gradients(loss, 30 * query, 30 * key, value):
        assert np.isfinite(found).all()


def test_weights_are_dropped_in_training_alone(heads):
    query, key, value, padding_mask = heads(150)
    config = CONFIG.replace(attention_dropout=0.5)
    layer = Window(20).layer(config, 0)
    layer.build((None, None, 8))

    def run(training):
        context = {"padding_mask": padding_mask}
        return ops.convert_to_numpy(layer(query, query, key, value, context, training=training))

    np.testing.assert_array_equal(run(False), run(False))
    assert np.abs(run(True) - run(True)).max() > 1e-2


def random_weights(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(0, 0.5)
    return model.eval()


@pytest.mark.parametrize("width", [2, 128])
def test_a_local_layer_is_that_of_modernbert(width, run_inside, run_compiled, copy_dense):
    config = transformers.ModernBertConfig(
        vocab_size=50,
        hidden_size=8,
        num_attention_heads=2,
        num_hidden_layers=2,
        intermediate_size=8,
        local_attention=width,
        attention_bias=True,
        pad_token_id=0,
        attn_implementation="eager",
    )
    theirs = random_weights(transformers.ModernBertModel(config))
    ids = np.random.default_rng(0).integers(1, 50, (3, 150))
    mask = np.ones_like(ids)
    mask[0, 70:] = 0
    mask[1, :70] = 0
    module = theirs.layers[1].attn
    (x, *_), expected = run_inside(theirs, module, input_ids=ids, attention_mask=mask)

    attention = Window(width, global_every=3)
    thetas = (config.rope_parameters[kind]["rope_theta"] for kind in config.layer_types)
    ours = CONFIG.replace(num_layers=2, attention=attention, position=Rotary(*thetas))
    layer = ours.position.attention(ours, 1)
    layer.build((None, None, 8))
    for name, part in zip(
        ("query", "key", "value"), np.split(module.Wqkv.weight.detach().numpy(), 3), strict=True
    ):
        getattr(layer, name).kernel.assign(part.T)
    for name, part in zip(
        ("query", "key", "value"), np.split(module.Wqkv.bias.detach().numpy(), 3), strict=True
    ):
        getattr(layer, name).bias.assign(part)
    copy_dense(module.Wo, layer.projection)
    found = run_compiled(lambda x, mask: layer(x, {"padding_mask": mask}), x, mask)
    np.testing.assert_allclose(found[mask == 1], expected[mask == 1], atol=1e-5)


def test_every_third_layer_sees_all():
    attention = Window(width=4, global_every=3)
    config = CONFIG.replace(num_layers=7, attention=attention)
    layers = [attention.layer(config, index) for index in range(7)]
    assert [index for index, layer in enumerate(layers) if layer is None] == [0, 3, 6]


@pytest.fixture(scope="module", params=[4, 300])
def longformer(request, copy_dense):
    """Longformer with windows of a width, our first layer with the same weights."""
    config = transformers.LongformerConfig(
        vocab_size=50,
        hidden_size=8,
        num_attention_heads=2,
        num_hidden_layers=1,
        intermediate_size=8,
        max_position_embeddings=1000,
        attention_window=request.param,
        pad_token_id=1,
    )
    torch.manual_seed(0)
    theirs = random_weights(transformers.LongformerModel(config))
    attention = Window(request.param, global_tokens=True, max_global_tokens=9)
    layer = SelfAttention(CONFIG.replace(attention=attention), name="attention")
    layer.build((None, None, 8))
    module = theirs.encoder.layer[0].attention.self
    for name in ("query", "key", "value"):
        copy_dense(getattr(module, name), getattr(layer, name))
        copy_dense(getattr(module, f"{name}_global"), getattr(layer.sparse, name))
    layer.projection.kernel.assign(np.eye(8))  # theirs lies behind the module
    layer.projection.bias.assign(np.zeros(8))
    return theirs, module, layer


@pytest.mark.parametrize("global_tokens", ["none", "the first", "some"])
@pytest.mark.parametrize("length", [1, 12, 260])
def test_global_tokens_are_those_of_longformer(
    longformer, length, global_tokens, run_inside, run_compiled
):
    theirs, module, layer = longformer
    draw = np.random.default_rng(length)
    mask = np.ones((4, length), "int32")
    mask[0, : length // 2] = 0
    mask[1, length // 2 + 1 :] = 0
    global_mask = np.zeros_like(mask)
    if global_tokens == "the first":  # which is padding in one row
        global_mask[:, 0] = 1
    elif global_tokens == "some":
        for row, count in enumerate((3, 1, 9, 0)):
            global_mask[row, draw.permutation(length)[:count]] = 1
    (x, *_), expected = run_inside(
        theirs,
        module,
        input_ids=draw.integers(2, 50, (4, length)),
        attention_mask=mask,
        global_attention_mask=global_mask,
    )
    found = run_compiled(
        lambda x, mask, global_mask: layer(x, {"padding_mask": mask, "global_mask": global_mask}),
        x[:, :length],
        mask,
        global_mask,
    )
    real = mask.astype(bool)
    np.testing.assert_allclose(found[real], expected[:, :length][real], atol=1e-5)


def test_global_tokens_beyond_the_most_are_ordinary_ones():
    attention = Window(4, global_tokens=True, max_global_tokens=2)
    layer = SelfAttention(CONFIG.replace(attention=attention))
    layer.build((None, None, 8))
    x = np.random.default_rng(0).normal(size=(1, 20, 8)).astype("float32")
    mask = np.ones((1, 20), "int32")
    first_two, more = np.zeros((2, 1, 20), "int32")
    first_two[:, [3, 9]] = 1
    more[:, [3, 9, 15, 19]] = 1
    found, expected = (
        ops.convert_to_numpy(layer(x, {"padding_mask": mask, "global_mask": global_mask}))
        for global_mask in (more, first_two)
    )
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_the_projections_of_global_tokens_are_named_like_the_others():
    attention = Window(4, global_tokens=True)
    layer = SelfAttention(CONFIG.replace(attention=attention), name="attention")
    layer.build((None, None, 8))
    paths = {variable.path for variable in layer.weights}
    assert {f"attention/sparse/{name}/kernel" for name in ("query", "key", "value")} < paths
    assert isinstance(layer.sparse.query, keras.layers.Dense)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"width": 0}, "width=0"),
        ({"width": (4, 0)}, r"width=\(4, 0\)"),
        ({"width": ()}, r"width=\(\)"),
        ({"global_every": 0}, "global_every=0"),
        ({"max_global_tokens": 0}, "max_global_tokens=0"),
    ],
)
def test_senseless_windows_are_errors_that_name_the_field(fields, message):
    with pytest.raises(ValueError, match=message):
        Window(**fields)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"attention": Window(width=(4, 4))}, "for 1 layers"),
        ({"attention": Window(4), "position": RelativeBias()}, "add to the scores"),
        ({"attention": Window(4, global_tokens=True), "position": Rotary()}, "absolute"),
    ],
)
def test_encoders_that_cannot_have_windows_are_errors(fields, message):
    with pytest.raises(ValueError, match=message):
        CONFIG.replace(**fields)


def test_configurations_survive_the_round_trip():
    attention = Window((4, 6), global_every=3, global_tokens=True, max_global_tokens=8)
    config = CONFIG.replace(num_layers=2, attention=attention)
    assert EncoderConfig.from_dict(config.to_dict()) == config
    assert config.attention.has_global_tokens
    assert not Full().has_global_tokens
