"""DeBERTa, all versions, read from and written for `transformers`: hidden states and heads."""

import json

import numpy as np
import pytest
import torch
import transformers
from keras import ops

import kerasbert
from kerasbert import Encoder, trace
from tests.parity import tiny_models

UNGAINLY = {
    "vocab_size": 97,
    "hidden_size": 36,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 50,
    "max_position_embeddings": 40,
    "relative_attention": True,
    "position_biased_input": False,
    "pos_att_type": ["p2c", "c2p"],
}
# What the released models of the third version have, in small.
V3 = {
    "position_buckets": 8,
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}
V1_MODELS = {
    "as released": {},
    "absolute positions and segments": {
        "position_biased_input": True,
        "type_vocab_size": 2,
        "hidden_act": "relu",
    },
    "content to position, up to 5": {"pos_att_type": ["c2p"], "max_relative_positions": 5},
    "position to content, a large epsilon": {"pos_att_type": ["p2c"], "layer_norm_eps": 1e-2},
    "one narrow head": {"num_attention_heads": 1, "hidden_size": 10, "hidden_act": "gelu_new"},
}
V2_MODELS = {
    "as released": V3,
    "a convolution": {**V3, "conv_kernel_size": 3, "conv_act": "gelu"},
    "a wide grouped convolution, one term": {
        "pos_att_type": ["c2p"],
        "position_buckets": 7,
        "conv_kernel_size": 5,
        "conv_groups": 3,
        "norm_rel_ebd": "layer_norm",
    },
    "absolute positions and segments": {
        **V3,
        "position_biased_input": True,
        "type_vocab_size": 2,
        "hidden_act": "silu",
    },
    "neither buckets, norm nor sharing": {"max_relative_positions": 6},
    "odd buckets to 9, position to content": {
        "pos_att_type": ["p2c"],
        "position_buckets": 5,
        "max_relative_positions": 9,
        "share_att_key": True,
    },
}
CONFIGS = {
    **{f"v1: {name}": ("Deberta", changes) for name, changes in V1_MODELS.items()},
    **{f"v2: {name}": ("DebertaV2", changes) for name, changes in V2_MODELS.items()},
}


def random_model(prefix, head, changes):
    cls = getattr(transformers, f"{prefix}{head}")
    return cls(cls.config_class(**{**UNGAINLY, **changes}))


@pytest.fixture(scope="module", params=CONFIGS)
def pair(request, randomize, tmp_path_factory):
    """A model of `transformers`, the encoder read from its folder, and the folder."""
    prefix, changes = CONFIGS[request.param]
    theirs = randomize(random_model(prefix, "Model", changes))
    folder = tmp_path_factory.mktemp("checkpoint")
    theirs.save_pretrained(folder)
    return theirs, Encoder.from_preset(folder), folder


def test_hidden_states_and_attention_weights_are_those_of_transformers(
    pair, batch, run_transformers, assert_close_where_real
):
    theirs, ours, _ = pair
    expected = run_transformers(theirs, batch)
    mask = batch["padding_mask"]
    plain = ours(batch)
    with trace("hidden_states", "attention_weights") as record:
        ours(batch)
    assert len(record["hidden_states"]) == len(expected.hidden_states)
    for found, wanted in zip(record["hidden_states"], expected.hidden_states, strict=True):
        assert_close_where_real(found, wanted, mask)
    for found, wanted in zip(record["attention_weights"], expected.attentions, strict=True):
        by_query = ops.transpose(found, (0, 2, 1, 3))  # (B, T, N, T)
        assert_close_where_real(by_query, wanted.transpose(1, 2), mask)
    assert_close_where_real(plain["sequence_output"], expected.last_hidden_state, mask)


@pytest.mark.parametrize("length", [1, 40])
def test_the_shortest_and_the_longest_input(length, pair, run_transformers):
    theirs, ours, _ = pair
    ids = np.random.default_rng(5).integers(1, 97, (2, length)).astype("int32")
    batch = {
        "token_ids": ids,
        "segment_ids": (ids > 50).astype("int32"),
        "padding_mask": np.ones_like(ids),
    }
    expected = run_transformers(theirs, batch).last_hidden_state.numpy()
    found = ops.convert_to_numpy(ours(batch)["sequence_output"])
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_transformers_loads_an_exported_encoder_with_every_key_and_the_same_outputs(
    pair, batch, run_transformers, tmp_path
):
    theirs, ours, folder = pair
    ours.export_to_transformers(tmp_path)
    again, report = transformers.AutoModel.from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    expected = run_transformers(theirs, batch)
    found = run_transformers(again.eval(), batch)
    for one, other in zip(found.hidden_states, expected.hidden_states, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), atol=1e-5)

    original = json.loads((folder / "config.json").read_text())
    written = json.loads((tmp_path / "config.json").read_text())
    for name in written.keys() & original.keys():
        assert written[name] == original[name], name


HEADS = {
    "ForMaskedLM": kerasbert.MaskedLM,
    "ForSequenceClassification": kerasbert.TextClassifier,
    "ForTokenClassification": kerasbert.TokenClassifier,
    "ForQuestionAnswering": kerasbert.QuestionAnswerer,
    "ForMultipleChoice": kerasbert.MultipleChoice,
}
TASKS = {
    "v1": ("Deberta", {"hidden_act": "relu"}, [head for head in HEADS if "Choice" not in head]),
    "v2": ("DebertaV2", {**V3, "conv_kernel_size": 3}, list(HEADS)),
}
OPTIONS = {
    "ForSequenceClassification": {
        "num_labels": 3,
        "pooler_hidden_act": "relu",
        "pooler_dropout": 0.2,
        "cls_dropout": 0.3,
    },
    "ForTokenClassification": {"num_labels": 5},
    "ForMultipleChoice": {"pooler_hidden_act": "tanh"},
}


@pytest.fixture(
    scope="module",
    params=[(version, head) for version, (*_, heads) in TASKS.items() for head in heads],
    ids="".join,
)
def task_pair(request, randomize, tmp_path_factory):
    version, head = request.param
    prefix, changes, _ = TASKS[version]
    theirs = randomize(random_model(prefix, head, {**changes, **OPTIONS.get(head, {})}))
    folder = tmp_path_factory.mktemp("checkpoint")
    theirs.save_pretrained(folder)
    return theirs, HEADS[head].from_preset(folder)


def batch_for(model, batch):
    """The rows that start with a real token; for a choice, in pairs of two."""
    rows = batch["padding_mask"][:, 0] == 1
    rows[np.flatnonzero(rows)[2:]] = False
    readable = {name: array[rows] for name, array in batch.items()}
    if isinstance(model, kerasbert.MultipleChoice):
        return {name: array[None] for name, array in readable.items()}
    return readable


def logits_of(output):
    if "logits" in output:
        return output.logits.numpy()
    return np.stack([output.start_logits.numpy(), output.end_logits.numpy()], axis=-1)


def test_logits_are_those_of_transformers(task_pair, batch, run_transformers):
    theirs, ours = task_pair
    inputs = batch_for(ours, batch)
    expected = logits_of(run_transformers(theirs, inputs))
    found = ops.convert_to_numpy(ours(inputs))
    if expected.ndim == 3:  # of each token
        real = inputs["padding_mask"] == 1
        expected, found = expected[real], found[real]
    np.testing.assert_allclose(found, expected, atol=1e-4, rtol=1e-4)


def test_transformers_loads_an_exported_task_with_every_key_and_the_same_logits(
    task_pair, batch, run_transformers, tmp_path
):
    theirs, ours = task_pair
    ours.export_to_transformers(tmp_path)
    again, report = type(theirs).from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    inputs = batch_for(ours, batch)
    np.testing.assert_allclose(
        logits_of(run_transformers(again.eval(), inputs)),
        logits_of(run_transformers(theirs, inputs)),
        atol=1e-5,
    )
    for option in ("pooler_dropout", "pooler_hidden_act", "cls_dropout"):
        if option in OPTIONS.get(type(theirs).__name__.removeprefix("DebertaV2"), {}):
            assert getattr(again.config, option) == getattr(theirs.config, option)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"relative_attention": False}, "relative_attention"),
        ({"embedding_size": 20}, "embedding_size"),
        ({"pos_att_type": ["p2p"]}, "p2p"),
        ({"attention_head_size": 6}, "attention_head_size"),
    ],
)
def test_other_computations_are_refused(changes, message, randomize, tmp_path):
    theirs = randomize(random_model("DebertaV2", "Model", V3))
    theirs.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(ValueError, match=message):
        Encoder.from_preset(tmp_path)


def test_terms_may_stand_in_one_string_as_in_the_released_files(randomize, tmp_path):
    theirs = randomize(random_model("DebertaV2", "Model", V3))
    theirs.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    old = {"pos_att_type": "p2c|c2p", "attention_head_size": 12, "padding_idx": 0}
    path.write_text(json.dumps({**json.loads(path.read_text()), **old}))
    assert Encoder.from_preset(tmp_path).config.position.terms == ("p2c", "c2p")


@pytest.mark.parametrize("kind", ["Deberta", "DebertaV2"])
def test_released_names_of_the_masked_lm_head_are_read_without_architectures(
    kind, make_batch, assert_close_where_real, tmp_path
):
    config = getattr(transformers, f"{kind}Config")(
        **tiny_models.STACK,
        relative_attention=True,
        position_biased_input=False,
        pos_att_type=["c2p", "p2c"],
        type_vocab_size=0,
        legacy=False,
    )
    theirs = tiny_models.randomize(getattr(transformers, f"{kind}ForMaskedLM")(config))
    theirs.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    values = json.loads(path.read_text())
    del values["architectures"]  # as released
    path.write_text(json.dumps(values))
    batch = make_batch()
    with torch.no_grad():
        expected = theirs(
            torch.tensor(batch["token_ids"]).long(), torch.tensor(batch["padding_mask"]).long()
        ).logits
    ours = kerasbert.MaskedLM.from_preset(tmp_path)
    assert_close_where_real(ours(batch), expected, batch["padding_mask"])
