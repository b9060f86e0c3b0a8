"""MaskedLM: where it is read, and that its output embedding is its input's."""

import numpy as np
import pytest
from keras import ops

import kerasbert

IDS = np.array([[3, 4, 5, 6], [7, 8, 0, 0]], "int32")
BATCH = {"token_ids": IDS, "segment_ids": IDS * 0, "padding_mask": (IDS > 0).astype("int32")}


@pytest.fixture(scope="module")
def model():
    config = kerasbert.EncoderConfig(
        vocabulary_size=11, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=9
    )
    return kerasbert.MaskedLM(kerasbert.Encoder(config))


def test_with_positions_only_these_are_computed(model):
    positions = np.array([[2, 0], [1, 1]], "int32")
    everywhere = ops.convert_to_numpy(model(BATCH))
    there = ops.convert_to_numpy(model({**BATCH, "mask_positions": positions}))
    assert everywhere.shape == (2, 4, 11)
    np.testing.assert_allclose(
        there, np.take_along_axis(everywhere, positions[..., None], axis=1), atol=1e-5
    )
    predicted = model.predict({**BATCH, "mask_positions": positions}, verbose=0)
    np.testing.assert_allclose(predicted, there, atol=1e-5)


def test_the_output_embedding_is_the_token_embedding(model):
    before = ops.convert_to_numpy(model(BATCH))
    table = model.backbone.token_embedding.embeddings
    old = ops.convert_to_numpy(table)
    new = old.copy()
    new[9] *= 3  # a token that stands nowhere in the batch
    table.assign(new)
    after = ops.convert_to_numpy(model(BATCH))
    table.assign(old)
    others = [token for token in range(11) if token != 9]
    np.testing.assert_allclose(after[..., others], before[..., others], atol=1e-6)
    assert np.abs(after[..., 9] - before[..., 9]).max() > 1e-3


def test_training_at_positions_changes_the_head_and_the_encoder(model):
    before = [ops.convert_to_numpy(w) for w in model.trainable_weights]
    labels = np.array([[5, -100], [8, 7]])
    positions = np.array([[2, 0], [1, 0]], "int32")
    model.compile(optimizer="sgd")
    model.fit({**BATCH, "mask_positions": positions}, labels, verbose=0)
    after = [ops.convert_to_numpy(w) for w in model.trainable_weights]
    changed = {
        w.path
        for w, a, b in zip(model.trainable_weights, before, after, strict=True)
        if (a != b).any()
    }
    assert {"head/dense/kernel", "head/bias", "embeddings/token/embeddings"} <= changed
