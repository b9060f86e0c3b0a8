"""Encoders read from, and written for, `transformers`: every hidden state and attention weight."""

import json

import numpy as np
import pytest
import transformers
from keras import ops

from kerasbert import Encoder, Full, trace
from tests.parity import tiny_models
from tests.parity.tiny_models import CONFIGS

WITHOUT_POOLER = ("bert, silu", "albert, embeddings as wide", "roberta, padding id 0")


@pytest.fixture(scope="module", params=CONFIGS)
def pair(request, tmp_path_factory):
    """A model of `transformers`, the encoder read from its folder, and the folder."""
    pooler = not request.param.startswith(WITHOUT_POOLER)
    model = tiny_models.encoder(CONFIGS[request.param](), pooler)
    theirs = tiny_models.randomize(model)
    folder = tmp_path_factory.mktemp("checkpoint")
    theirs.save_pretrained(folder)
    return theirs, Encoder.from_preset(folder), folder


@pytest.fixture(scope="module", params=["some tokens", "full length"])
def inputs(request, pair, make_batch):
    """What the encoder of `pair` takes."""
    config = pair[1].config
    length = 12 if request.param == "some tokens" else config.max_sequence_length
    batch = make_batch(length, config.pad_token_id, config.num_segments)
    if config.num_task_types:
        batch["task_type_ids"] = batch["segment_ids"] % config.num_task_types
    if config.attention.has_global_tokens:
        batch["global_mask"] = batch["token_ids"] % 4 == 0
    return batch


def test_hidden_states_and_attention_weights_are_those_of_transformers(
    pair, inputs, run_transformers, assert_close_where_real
):
    theirs, ours, _ = pair
    expected = run_transformers(theirs, inputs)
    mask = inputs["padding_mask"]
    is_full = isinstance(ours.config.attention, Full)

    plain = ours(inputs)
    with trace("hidden_states", *(["attention_weights"] if is_full else [])) as record:
        traced = ours(inputs)

    found_states, expected_states = record["hidden_states"], list(expected.hidden_states)
    assert len(found_states) == len(expected_states)
    if ours.config.norm_placement == "pre":  # their last one has been through the final norm
        found_states[-1] = traced["sequence_output"]
    for found, wanted in zip(found_states, expected_states, strict=True):
        assert_close_where_real(found, wanted, mask)
    for found, wanted in zip(
        record.get("attention_weights", ()), expected.attentions if is_full else (), strict=True
    ):
        by_query = ops.transpose(found, (0, 2, 1, 3))  # (B, T, N, T)
        assert_close_where_real(by_query, wanted.transpose(1, 2), mask)
    for outputs in (plain, traced):
        assert_close_where_real(outputs["sequence_output"], expected.last_hidden_state, mask)
    if getattr(expected, "pooler_output", None) is None or ours.config.pooler is None:
        assert "pooled_output" not in plain
    else:
        rows = mask[:, 0].astype(bool)  # the first token of a row padded on the left is padding
        np.testing.assert_allclose(
            ops.convert_to_numpy(plain["pooled_output"])[rows],
            expected.pooler_output.numpy()[rows],
            atol=1e-4,
        )


def test_transformers_loads_an_exported_encoder_with_every_key_and_the_same_outputs(
    pair, make_batch, run_transformers, assert_close_where_real, tmp_path
):
    theirs, ours, _ = pair
    options = {}
    if theirs.config.model_type in ("bert", "albert", "roberta") and ours.config.pooler is None:
        options["add_pooling_layer"] = False  # a config.json of transformers cannot say this

    ours.export_to_transformers(tmp_path)
    again, report = transformers.AutoModel.from_pretrained(
        tmp_path, output_loading_info=True, **options
    )

    assert not any(report.values()), report
    batch = make_batch(12, ours.config.pad_token_id, ours.config.num_segments)
    expected = run_transformers(theirs, batch)
    found = run_transformers(again.eval(), batch)
    for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        assert_close_where_real(one, other, batch["padding_mask"], tolerance=1e-5)


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
    with pytest.raises(ValueError, match="format of no family"):
        Encoder(config).export_to_transformers(folder)
    with pytest.raises(ValueError, match="'bert' cannot represent"):
        Encoder(config).export_to_transformers(folder, family="bert")
    assert not folder.exists()
