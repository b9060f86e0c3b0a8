"""Fresh weights are drawn as the papers say; weights that will be loaded are not drawn at all."""

import keras
import numpy as np

from kerasbert import EncoderConfig
from kerasbert.layers.initializing import dense, embedding, weights_to_be_loaded

CONFIG = EncoderConfig(initializer_range=0.05)


def built(layer, shape):
    layer.build(shape)
    return keras.ops.convert_to_numpy(layer.weights[0])


def test_kernels_and_tables_are_truncated_normals():
    for values in (
        built(dense(CONFIG, 200, name="d", dtype=None), (None, 200)),
        built(embedding(CONFIG, 200, 200, name="e", dtype=None), (None, None)),
    ):
        # A normal truncated at two deviations has 0.88 of its standard deviation.
        assert abs(values.mean()) < 1e-3
        assert 0.85 * 0.05 < values.std() < 0.91 * 0.05
        assert np.abs(values).max() <= 0.1 + 1e-6


def test_two_layers_are_drawn_independently():
    first, second = (built(dense(CONFIG, 5, name="d", dtype=None), (None, 5)) for _ in range(2))
    assert np.abs(first - second).max() > 0


def test_weights_to_be_loaded_are_zeros_and_only_inside():
    with weights_to_be_loaded():
        assert not built(dense(CONFIG, 5, name="d", dtype=None), (None, 5)).any()
    assert built(dense(CONFIG, 5, name="d", dtype=None), (None, 5)).any()
