"""Encoders read from, and written for, `transformers`: every hidden state and attention weight."""

import json

import numpy as np
import pytest
import transformers
from keras import ops

from kerasbert import Encoder, trace

UNGAINLY = {
    "vocab_size": 97,
    "hidden_size": 36,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 50,
    "max_position_embeddings": 40,
}


def bert(pooler=True, **changes):
    config = transformers.BertConfig(**{**UNGAINLY, **changes})
    return transformers.BertModel(config, add_pooling_layer=pooler)


def distilbert(**changes):
    config = transformers.DistilBertConfig(
        vocab_size=97,
        dim=36,
        n_heads=3,
        n_layers=2,
        hidden_dim=50,
        max_position_embeddings=40,
        **changes,
    )
    return transformers.DistilBertModel(config)


def albert(pooler=True, **changes):
    sizes = {**UNGAINLY, "embedding_size": 20, **changes}
    return transformers.AlbertModel(transformers.AlbertConfig(**sizes), add_pooling_layer=pooler)


MODELS = {
    "bert": bert,
    "bert, relu and a large epsilon": lambda: bert(hidden_act="relu", layer_norm_eps=1e-2),
    "bert, gelu_new and one segment": lambda: bert(hidden_act="gelu_new", type_vocab_size=1),
    "bert, silu, no pooler": lambda: bert(pooler=False, hidden_act="silu"),
    "bert, causal": lambda: bert(is_decoder=True, use_cache=False),
    "distilbert": distilbert,
    "distilbert, relu": lambda: distilbert(activation="relu", sinusoidal_pos_embds=True),
    "albert, two groups of two": lambda: albert(
        num_hidden_layers=4, num_hidden_groups=2, inner_group_num=2
    ),
    "albert, embeddings as wide as the rest, no pooler": lambda: albert(
        pooler=False, embedding_size=36, hidden_act="silu", layer_norm_eps=1e-3
    ),
    "albert, three groups for four steps": lambda: albert(
        num_hidden_layers=4, num_hidden_groups=3, type_vocab_size=3
    ),
}


@pytest.fixture(scope="module", params=MODELS)
def pair(request, randomize, tmp_path_factory):
    """A model of `transformers`, the encoder read from its folder, and the folder."""
    theirs = randomize(MODELS[request.param]())
    folder = tmp_path_factory.mktemp("checkpoint")
    theirs.save_pretrained(folder)
    return theirs, Encoder.from_preset(folder), folder


def test_hidden_states_and_attention_weights_are_those_of_transformers(
    pair, batch, run_transformers, assert_close_where_real, without_segments_above
):
    theirs, ours, _ = pair
    batch = without_segments_above(batch, ours.config.num_segments)
    expected = run_transformers(theirs, batch)
    mask = batch["padding_mask"]

    plain = ours(batch)
    with trace("hidden_states", "attention_weights") as record:
        traced = ours(batch)

    assert len(record["hidden_states"]) == len(expected.hidden_states)
    for found, wanted in zip(record["hidden_states"], expected.hidden_states, strict=True):
        assert_close_where_real(found, wanted, mask)
    for found, wanted in zip(record["attention_weights"], expected.attentions, strict=True):
        by_query = ops.transpose(found, (0, 2, 1, 3))  # (B, T, N, T)
        assert_close_where_real(by_query, wanted.transpose(1, 2), mask)
    for outputs in (plain, traced):
        assert_close_where_real(outputs["sequence_output"], expected.last_hidden_state, mask)
    if getattr(expected, "pooler_output", None) is None:
        assert "pooled_output" not in plain
    else:
        rows = mask[:, 0].astype(bool)  # the first token of a row padded on the left is padding
        np.testing.assert_allclose(
            ops.convert_to_numpy(plain["pooled_output"])[rows],
            expected.pooler_output.numpy()[rows],
            atol=1e-4,
        )


def test_transformers_loads_an_exported_encoder_with_every_key_and_the_same_outputs(
    pair, batch, run_transformers, without_segments_above, tmp_path
):
    theirs, ours, _ = pair
    options = {}
    if ours.config.pooler is None and theirs.config.model_type != "distilbert":
        options["add_pooling_layer"] = False  # a config.json of transformers cannot say this

    ours.export_to_transformers(tmp_path)
    again, report = transformers.AutoModel.from_pretrained(
        tmp_path, output_loading_info=True, **options
    )

    assert not any(report.values()), report
    batch = without_segments_above(batch, ours.config.num_segments)
    expected = run_transformers(theirs, batch)
    found = run_transformers(again.eval(), batch)
    for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)


def test_an_exported_config_says_what_the_original_said(pair, tmp_path):
    theirs, ours, folder = pair
    ours.export_to_transformers(tmp_path)
    original = json.loads((folder / "config.json").read_text())
    written = json.loads((tmp_path / "config.json").read_text())
    assert type(theirs).__name__ in written["architectures"]
    for name in written.keys() & original.keys():
        assert written[name] == original[name], name


@pytest.mark.parametrize("num_groups", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("num_layers", [7, 12, 24, 47])
def test_albert_applies_the_groups_at_the_steps_that_transformers_does(num_layers, num_groups):
    from kerasbert import EncoderConfig, Sharing
    from kerasbert.layers import block_order

    config = EncoderConfig(num_layers=num_layers, sharing=Sharing(num_groups, 1))
    # modeling_albert.py, AlbertTransformer.forward
    theirs = [int(step / (num_layers / num_groups)) for step in range(num_layers)]
    assert block_order(config) == theirs


def test_a_bare_encoder_is_exported_for_the_one_family_that_can_say_it(ours_like, tmp_path):
    for model_type, encoder in ours_like.items():
        folder = tmp_path / model_type
        encoder.export_to_transformers(folder)
        assert json.loads((folder / "config.json").read_text())["model_type"] == model_type


@pytest.fixture(scope="module")
def ours_like():
    """Encoders built by hand, without a family."""
    from kerasbert import EncoderConfig, Sharing

    config = EncoderConfig(
        vocabulary_size=97, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=9
    )
    return {
        "bert": Encoder(config),
        "distilbert": Encoder(config.replace(num_segments=0, pooler=None)),
        "albert": Encoder(config.replace(embedding_dim=4, sharing=Sharing())),
    }


def test_an_encoder_that_no_family_can_say_is_not_exported(tmp_path):
    from kerasbert import EncoderConfig

    config = EncoderConfig(
        vocabulary_size=9,
        num_layers=1,
        num_heads=1,
        hidden_dim=4,
        intermediate_dim=4,
        norm_placement="pre",
    )
    folder = tmp_path / "exported"
    with pytest.raises(ValueError, match="No family can represent"):
        Encoder(config).export_to_transformers(folder)
    with pytest.raises(ValueError, match="'bert' cannot represent"):
        Encoder(config).export_to_transformers(folder, family="bert")
    assert not folder.exists()
