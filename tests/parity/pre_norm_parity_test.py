"""Pre-norm blocks, and positions counted over real tokens only, against RobertaPreLayerNorm."""

import numpy as np
import pytest
import transformers
from keras import ops

from kerasbert import Absolute, Encoder, EncoderConfig, trace

PAD = 1

LAYER = "encoder.layer.{i}."
NAMES = {
    "attention/query": LAYER + "attention.self.query",
    "attention/key": LAYER + "attention.self.key",
    "attention/value": LAYER + "attention.self.value",
    "attention/output": LAYER + "attention.output.dense",
    "attention_norm": LAYER + "attention.LayerNorm",
    "feed_forward/intermediate": LAYER + "intermediate.dense",
    "feed_forward/output": LAYER + "output.dense",
    "feed_forward_norm": LAYER + "intermediate.LayerNorm",
    "embeddings/token": "embeddings.word_embeddings",
    "embeddings/position": "embeddings.position_embeddings",
    "embeddings/segment": "embeddings.token_type_embeddings",
    "embeddings/norm": "embeddings.LayerNorm",
    "final_norm": "LayerNorm",
    "pooler": "pooler.dense",
}


def copy_weights(theirs, ours):
    state = {name: value.numpy() for name, value in theirs.state_dict().items()}
    for variable in ours.weights:
        layer, _, kind = variable.path.rpartition("/")
        index = ""
        if layer.startswith("layer_"):
            index, _, layer = layer.removeprefix("layer_").partition("/")
        suffix = "bias" if kind in ("bias", "beta") else "weight"
        value = state[f"{NAMES[layer].format(i=index)}.{suffix}"]
        variable.assign(value.T if kind == "kernel" else value)


@pytest.fixture(scope="module")
def pair(randomize):
    config = transformers.RobertaPreLayerNormConfig(
        vocab_size=97,
        hidden_size=36,
        num_attention_heads=3,
        num_hidden_layers=2,
        intermediate_size=50,
        max_position_embeddings=42,
        pad_token_id=PAD,
        type_vocab_size=2,
        layer_norm_eps=1e-5,
    )
    theirs = randomize(transformers.RobertaPreLayerNormModel(config))
    ours = Encoder(
        EncoderConfig(
            vocabulary_size=97,
            num_layers=2,
            num_heads=3,
            hidden_dim=36,
            intermediate_dim=50,
            max_sequence_length=40,
            pad_token_id=PAD,
            norm_placement="pre",
            norm_epsilon=1e-5,
            position=Absolute(offset=PAD + 1, counting="non_padding"),
        )
    )
    copy_weights(theirs, ours)
    return theirs, ours


def test_pre_norm_states_are_those_of_transformers(
    pair, batch, run_transformers, assert_close_where_real
):
    theirs, ours = pair
    mask = batch["padding_mask"]
    # Their positions are counted over ids that are not the padding id.
    ids = np.where(mask == 1, np.maximum(batch["token_ids"], PAD + 1), PAD).astype("int32")
    batch = {**batch, "token_ids": ids}
    expected = run_transformers(theirs, batch)
    with trace("hidden_states", "attention_weights") as record:
        outputs = ours(batch)
    # Theirs may name the normalised output as its last state.
    for found, wanted in zip(
        record["hidden_states"][:-1], expected.hidden_states[:-1], strict=True
    ):
        assert_close_where_real(found, wanted, mask)
    assert_close_where_real(outputs["sequence_output"], expected.last_hidden_state, mask)


def test_padding_on_the_left_changes_nothing_where_positions_count_real_tokens(pair):
    _, ours = pair
    ids = np.arange(5, 11, dtype="int32")[None]
    left = np.pad(ids, ((0, 0), (4, 0)), constant_values=PAD)
    alone, padded = (
        ops.convert_to_numpy(
            ours(
                {"token_ids": x, "segment_ids": x * 0, "padding_mask": (x != PAD).astype("int32")}
            )["sequence_output"]
        )
        for x in (ids, left)
    )
    np.testing.assert_allclose(padded[:, 4:], alone, atol=1e-5)
