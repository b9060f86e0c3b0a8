"""Prompt tuning against encoders that are run by hand on longer embeddings."""

import numpy as np
import pytest
import torch
import transformers

from kerasbert import Disentangled, MaskedLM, trace, tuning
from kerasbert.layers import AttentionMask
from tests.models import tiny_families
from tests.tuning.tuned_models import (
    BATCH,
    SEE_ALL,
    STILL,
    changed_by_a_step,
    classifier,
    disturb,
    logits_of,
    numpy,
    paths,
    values_of,
)

LENGTH = 3


def prompted(family, **changes):
    return disturb(tuning.prompts(tiny_families.encoder_of(family, **STILL, **changes), LENGTH))


def test_the_vectors_stand_before_the_embeddings_of_transformers_bert(tmp_path):
    """Lester et al., 2021, section 2: [P; X] passes through the encoder."""
    encoder = tiny_families.encoder_of("bert", **STILL)
    encoder.export_to_transformers(tmp_path)
    theirs = transformers.BertModel.from_pretrained(tmp_path, attn_implementation="eager").eval()
    disturb(tuning.prompts(encoder, LENGTH))
    batch = {name: torch.tensor(array).long() for name, array in BATCH.items()}
    mask = torch.nn.functional.pad(batch["padding_mask"], (LENGTH, 0), value=1)
    with torch.no_grad():
        x = theirs.embeddings(batch["token_ids"], token_type_ids=batch["segment_ids"])
        vectors = torch.tensor(numpy(encoder.soft_prompts.vectors)).expand(len(x), -1, -1)
        bias = (1 - mask[:, None, None, :].float()) * -1e9
        y = theirs.encoder(torch.cat((vectors, x), dim=1), attention_mask=bias)
        y = y.last_hidden_state[:, LENGTH:]
        pooled = theirs.pooler(y)
    outputs = encoder(BATCH)
    real = BATCH["padding_mask"].astype(bool)
    np.testing.assert_allclose(numpy(outputs["sequence_output"])[real], y.numpy()[real], atol=1e-5)
    np.testing.assert_allclose(numpy(outputs["pooled_output"]), pooled.numpy(), atol=1e-5)


@pytest.mark.parametrize("family", SEE_ALL)
def test_every_kind_of_position_counts_the_prompts(family):
    """The same blocks, by hand, on a batch that is longer: positions begin at the prompts."""
    encoder = prompted(family)
    config = encoder.config
    length = config.max_sequence_length  # the longest input, and longer with prompts
    batch = tiny_families.batch_of((length, 5), length=length)
    embed = encoder.get_layer("embeddings")
    names = [name for name in encoder.input_names if name != "global_mask"]
    x = numpy(embed(**{name: batch[name] for name in names}))
    vectors = np.repeat(numpy(encoder.soft_prompts.vectors)[None], 2, axis=0)
    mask = np.pad(batch["padding_mask"], ((0, 0), (LENGTH, 0)), constant_values=1)
    context = {"attention_mask": AttentionMask()(mask), "padding_mask": mask}
    positions = positions_of(encoder, length + LENGTH)
    if positions is not None:
        context["positions"] = positions
    y = np.concatenate((vectors, x), axis=1)
    blocks = 2 if config.sharing is None else 1
    for step in range(2):
        y = encoder.get_layer(f"layer_{step % blocks}")(y, context)
    found = encoder(batch)["sequence_output"]
    real = batch["padding_mask"].astype(bool)
    np.testing.assert_allclose(numpy(found)[real], numpy(y)[:, LENGTH:][real], atol=1e-5)


def positions_of(encoder, length):
    """What all blocks share for so many tokens: the farthest distances are those of the longest
    input, as no others were ever trained."""
    shared = [layer for layer in encoder.layers if layer.name == "relative_positions"]
    if not shared or hasattr(encoder.config.position, "bucket"):  # known for any distance
        return shared[0](np.ones((2, length), "int32")) if shared else None
    longest = encoder.config.max_sequence_length
    rows = shared[0].table.embeddings.value
    rows = rows if shared[0].norm is None else shared[0].norm(rows)
    row = encoder.config.position.rows(encoder.config)  # of distances -longest to longest
    rising = np.clip(np.arange(1 - length, length + 1), 1 - longest, longest - 1)
    return rows, row[longest - rising], row[longest + rising]


def test_only_the_vectors_and_the_head_are_trained():
    model = disturb(tuning.prompts(classifier(), LENGTH))
    expected = {"prompts/vectors", "head/output/kernel", "head/output/bias"}
    assert set(paths(model.trainable_variables)) == expected
    assert changed_by_a_step(model) == expected
    assert model.backbone.soft_prompts.vectors.shape == (LENGTH, 12)


@pytest.mark.parametrize("family", ["bert", "albert"])
def test_they_start_from_embeddings_of_real_tokens(family):
    encoder = tiny_families.encoder_of(family, **STILL)
    tuning.prompts(encoder, LENGTH)
    inputs = embedding_inputs(encoder, tiny_families.batch_of((8,)))
    embed = encoder.get_layer("embeddings")
    starts = [
        numpy(embed(**{**inputs, "token_ids": np.full((1, 8), index, "int32")}))
        for index in range(tiny_families.VOCABULARY_SIZE)
    ]
    for place, vector in enumerate(numpy(encoder.soft_prompts.vectors)):
        assert min(np.abs(vector - start[0, place]).max() for start in starts) < 1e-5


def embedding_inputs(encoder, batch):
    """As for text: all of it real, and in the first segment."""
    inputs = {name: np.zeros_like(batch[name]) for name in encoder.input_names}
    return {**inputs, "padding_mask": np.ones_like(batch["padding_mask"])}


def test_outputs_keep_the_positions_of_the_tokens():
    encoder = prompted("bert")
    with trace("hidden_states", "attention_weights") as record:
        outputs = encoder(BATCH)
    assert outputs["sequence_output"].shape == (3, 8, 12)
    assert [state.shape for state in record["hidden_states"]] == [(3, 8, 12)] + 2 * [(3, 11, 12)]
    assert record["attention_weights"][0].shape == (3, 2, 11, 11)
    last = encoder.features(BATCH, layers=(-1,))
    np.testing.assert_allclose(numpy(last), numpy(outputs["sequence_output"]), atol=1e-6)
    assert encoder.features(BATCH, layers=(0, 1)).shape == (3, 8, 24)


def test_padding_is_of_no_account():
    encoder = prompted("deberta-v2")
    short, long = (tiny_families.batch_of((5,), length=n) for n in (5, 9))
    long["token_ids"][:, :5] = short["token_ids"]
    long["segment_ids"][:, :5] = short["segment_ids"]
    found = [numpy(encoder(batch)["sequence_output"])[:, :5] for batch in (short, long)]
    np.testing.assert_allclose(*found, atol=1e-5)


@pytest.mark.parametrize("task", ["token_classifier", "multiple_choice", "masked_lm"])
def test_tasks_train_with_prompts(task):
    model = disturb(tuning.prompts(tiny_families.task_of("bert", task), LENGTH))
    before = values_of(model)
    model.fit(tiny_families.inputs_of(task, BATCH), tiny_families.labels_of(task, BATCH), verbose=0)
    after = values_of(model)
    changed = {path for path in after if not np.array_equal(before[path], after[path])}
    assert "prompts/vectors" in changed
    assert all(path.startswith(("prompts/", "head/")) for path in changed)


@pytest.mark.parametrize("family", ["longformer", "big_bird", "modernbert"])
def test_sparse_attention_is_refused(family):
    with pytest.raises(ValueError, match=r"`prompts` needs full attention.*`lora` or `adapters`"):
        tuning.prompts(classifier(family))


def test_the_enhanced_mask_decoder_is_refused():
    encoder = tiny_families.encoder_of("deberta-v2", position=Disentangled(buckets=4))
    model = MaskedLM(encoder, enhanced_decoder=True)
    tuning.prompts(encoder)
    with pytest.raises(ValueError, match=r"no place for soft prompts.*tuning.prefixes"):
        model(BATCH)


def test_a_length_must_be_a_positive_integer():
    with pytest.raises(ValueError, match=r"`length` must be an integer >= 1\. Received: length=-1"):
        tuning.prompts(classifier(), -1)


def test_they_can_follow_lora():
    model = disturb(tuning.prompts(tuning.lora(classifier(), rank=2), LENGTH))
    trained = {path.split("/")[-1] for path in paths(model.backbone.trainable_variables)}
    assert trained == {"vectors", "lora_kernel_a", "lora_kernel_b"}
    assert np.isfinite(logits_of(model)).all()
