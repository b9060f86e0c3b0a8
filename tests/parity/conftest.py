"""Tiny random models of `transformers`, and batches that are padded in every way."""

import keras
import numpy as np
import pytest
import torch

LENGTH = 12
SIZES = {"vocab_size": 97, "max_position_embeddings": 40}


@pytest.fixture(scope="session")
def randomize():
    """Draw all parameters anew: fresh biases are zero and norms one, so a swap would not show."""

    def draw(model, seed=0):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.normal_(1.0 if "norm" in name.lower() else 0.0, 0.3, generator=generator)
        return model.eval()

    return draw


@pytest.fixture(scope="session")
def batch():
    """Rows with padding on the right, on the left, a single token, none; int32 (4, 12)."""
    draw = np.random.default_rng(3)
    padding_mask = np.zeros((4, LENGTH), "int32")
    padding_mask[0, :7] = 1
    padding_mask[1, 5:] = 1
    padding_mask[2, :1] = 1
    padding_mask[3, :] = 1
    return {
        "token_ids": draw.integers(1, SIZES["vocab_size"], (4, LENGTH)).astype("int32"),
        "segment_ids": np.repeat([[0] * 4 + [1] * (LENGTH - 4)], 4, axis=0).astype("int32"),
        "padding_mask": padding_mask,
    }


@pytest.fixture(scope="session")
def run_transformers():
    """Call a model of `transformers` on our batch: an output object with hidden states, weights."""

    def run(model, batch, **options):
        model.set_attn_implementation("eager")
        inputs = {
            "input_ids": torch.tensor(batch["token_ids"]).long(),
            "attention_mask": torch.tensor(batch["padding_mask"]).long(),
        }
        segments = getattr(model.config, "type_vocab_size", 0)
        if segments and model.config.model_type != "distilbert":
            ids = np.minimum(batch["segment_ids"], segments - 1)
            inputs["token_type_ids"] = torch.tensor(ids).long()
        with torch.no_grad():
            return model(**inputs, output_hidden_states=True, output_attentions=True, **options)

    return run


@pytest.fixture(scope="session")
def assert_close_where_real():
    """Compare two arrays (4, 12, ...) at the positions that are not padding."""

    def check(found, expected, padding_mask, tolerance=1e-4):
        real = padding_mask.astype(bool)
        found, expected = keras.ops.convert_to_numpy(found), expected.detach().numpy()
        np.testing.assert_allclose(found[real], expected[real], atol=tolerance, rtol=tolerance)

    return check


@pytest.fixture(scope="session")
def without_segments_above():
    """The batch for a model with fewer segments."""

    def limit(batch, num_segments):
        if not num_segments:
            return batch
        return {**batch, "segment_ids": np.minimum(batch["segment_ids"], num_segments - 1)}

    return limit
