"""Tiny random models of `transformers`, and batches that are padded in every way."""

import keras
import numpy as np
import pytest
import torch

from tests.parity import tiny_models

LENGTH = 12
VOCABULARY_SIZE = 97


@pytest.fixture(scope="session")
def randomize():
    """Draw all parameters of a model anew."""
    return tiny_models.randomize


@pytest.fixture(scope="session")
def make_batch():
    """Rows with padding on the right, on the left, a single token, none; int32 (4, length)."""

    def make(length=LENGTH, pad_token_id=0, num_segments=2):
        draw = np.random.default_rng(3)
        padding_mask = np.zeros((4, length), "int32")
        padding_mask[0, : length // 2 + 1] = 1
        padding_mask[1, length // 2 - 1 :] = 1
        padding_mask[2, :1] = 1
        padding_mask[3, :] = 1
        token_ids = draw.integers(6, VOCABULARY_SIZE, (4, length))
        segment_ids = draw.integers(0, max(num_segments, 1), (4, length))
        return {
            "token_ids": np.where(padding_mask, token_ids, pad_token_id).astype("int32"),
            "segment_ids": segment_ids.astype("int32"),
            "padding_mask": padding_mask,
        }

    return make


@pytest.fixture(scope="session")
def batch(make_batch):
    """`make_batch` for a BERT."""
    return make_batch()


@pytest.fixture(scope="session")
def run_transformers():
    """Call a model of `transformers` on our batch: an output object with hidden states, weights."""

    def run(model, batch, **options):
        model.set_attn_implementation("eager")
        inputs = {
            "input_ids": torch.tensor(batch["token_ids"]).long(),
            "attention_mask": torch.tensor(batch["padding_mask"]).long(),
        }
        if getattr(model.config, "type_vocab_size", 0) and model.config.model_type not in (
            "distilbert",
            "mpnet",
        ):
            inputs["token_type_ids"] = torch.tensor(batch["segment_ids"]).long()
        theirs = {"global_mask": "global_attention_mask", "task_type_ids": "task_type_ids"}
        for name in theirs.keys() & batch.keys():
            inputs[theirs[name]] = torch.tensor(batch[name]).long()
        with torch.no_grad():
            return model(**inputs, output_hidden_states=True, output_attentions=True, **options)

    return run


@pytest.fixture(scope="session")
def assert_close_where_real():
    """Compare two arrays (4, length, ...) at the positions that are not padding."""

    def check(found, expected, padding_mask, tolerance=1e-4):
        real = padding_mask.astype(bool)
        found, expected = keras.ops.convert_to_numpy(found), expected.detach().numpy()
        np.testing.assert_allclose(found[real], expected[real], atol=tolerance, rtol=tolerance)

    return check
