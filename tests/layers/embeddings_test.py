"""Positions by index or over real tokens, and the sum of the three tables."""

import numpy as np
import pytest
from keras import ops

from kerasbert import Absolute, EncoderConfig
from kerasbert.layers import Embeddings

CONFIG = EncoderConfig(
    vocabulary_size=9,
    num_layers=1,
    num_heads=1,
    hidden_dim=6,
    intermediate_dim=8,
    max_sequence_length=5,
    hidden_dropout=0.0,
    norm_epsilon=1e-3,
)
MASK = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]], "int32")


@pytest.mark.parametrize(
    ("position", "expected"),
    [
        (Absolute(), [[0, 1, 2, 3, 4]] * 2),
        (Absolute(offset=2), [[2, 3, 4, 5, 6]] * 2),
        # fairseq, make_positions: padding has the padding index, others count from the next on.
        (Absolute(offset=2, counting="non_padding"), [[2, 3, 4, 1, 1], [1, 1, 2, 3, 4]]),
        (Absolute(counting="non_padding"), [[0, 1, 2, 0, 0], [0, 0, 0, 1, 2]]),
    ],
)
def test_positions(position, expected):
    found = ops.convert_to_numpy(position.rows(ops.convert_to_tensor(MASK)))
    assert found.dtype == "int32"
    np.testing.assert_array_equal(np.broadcast_to(found, (2, 5)), expected)


def embed(config):
    layer = Embeddings(config)
    layer.build((None, None), (None, None), (None, None))
    draw = np.random.default_rng(0)
    for variable in layer.weights:
        variable.assign(draw.normal(0.3, 1.0, variable.shape))
    return layer


@pytest.mark.parametrize("embedding_dim", [None, 4, 6])
def test_tables_are_summed_normalised_and_projected(embedding_dim):
    layer = embed(CONFIG.replace(embedding_dim=embedding_dim))
    values = {
        variable.path.partition("/")[2]: ops.convert_to_numpy(variable)
        for variable in layer.weights
    }
    token_ids = np.array([[1, 2, 3], [4, 5, 8]])
    segment_ids = np.array([[0, 0, 1], [1, 0, 1]])
    x = values["token/embeddings"][token_ids] + values["position/embeddings"][:3]
    x = x + values["segment/embeddings"][segment_ids]
    centred = x - x.mean(-1, keepdims=True)
    x = centred / np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    x = x * values["norm/gamma"] + values["norm/beta"]
    if embedding_dim:
        x = x @ values["projection/kernel"] + values["projection/bias"]
    found = layer(token_ids, np.ones((2, 3), "int32"), segment_ids=segment_ids)
    np.testing.assert_allclose(ops.convert_to_numpy(found), x, atol=1e-5)


@pytest.mark.parametrize(
    ("changes", "shapes"),
    [
        ({}, [(9, 6), (5, 6), (2, 6), (6,), (6,)]),
        ({"num_segments": 0}, [(9, 6), (5, 6), (6,), (6,)]),
        ({"position": Absolute(offset=2)}, [(9, 6), (7, 6), (2, 6), (6,), (6,)]),
        ({"embedding_dim": 4}, [(9, 4), (5, 4), (2, 4), (4,), (4,), (4, 6), (6,)]),
    ],
)
def test_there_are_just_the_tables_that_the_configuration_asks_for(changes, shapes):
    layer = embed(CONFIG.replace(**changes))
    assert [tuple(variable.shape) for variable in layer.weights] == shapes


def test_an_input_longer_than_the_table_is_an_error_that_names_both():
    ids = np.ones((1, 6), "int32")
    with pytest.raises(ValueError, match=r"length=6, max_sequence_length=5"):
        embed(CONFIG)(ids, ids, segment_ids=ids)
