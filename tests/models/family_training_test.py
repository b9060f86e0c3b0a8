"""Every family learns with every head, in every precision, and padding is of no account to it."""

import itertools

import keras
import numpy as np
import pytest
from keras import ops

from kerasbert import Blocks, Disentangled, MaskedLM
from kerasbert.families import FAMILIES
from tests.models import tiny_families
from tests.models.tiny_families import TASKS

# Every family with one task, every task with two families, and the heads that differ most.
PAIRS = [
    *zip(FAMILIES, itertools.cycle(TASKS), strict=False),
    ("mobilebert", "masked_lm"),
    ("albert", "pretraining"),
    ("modernbert", "classifier"),
]
# The last two of RoBERTa's kin are RoBERTa's encoder under other names.
DISTINCT = [name for name in FAMILIES if name not in ("xlm-roberta", "camembert")]
BACKEND = keras.backend.backend()
# On JAX, where each takes seconds to compile, float16 stands for both: its range is the smaller.
SLOW = pytest.mark.slow if BACKEND == "jax" else ()
HALF_PRECISION = [
    *((family, "mixed_float16") for family in DISTINCT),
    *(pytest.param(family, "mixed_bfloat16", marks=SLOW) for family in DISTINCT),
    ("modernbert", "bfloat16"),
]
# Where a second layer is not like the first. More would only take longer to compile.
LAYERS = {"albert": 2, "modernbert": 2}
# A softmax does not see what is added to all its scores: the biases of the keys have no gradient,
# nor has an output's where the softmax is over tokens or choices.
WITHOUT_GRADIENT = ("attention/key/bias", "sparse/key/bias")
SOFTMAX_OVER_ROWS = ("multiple_choice", "question_answerer")


def values_of(variables):
    """Copies of the variables' values by their paths."""
    return {v.path: np.array(ops.convert_to_numpy(ops.cast(v, "float32"))) for v in variables}


def train(model, task, batch, steps=1, **compiling):
    """Fit for some steps; the loss, and the values that were trained before and after."""
    model.compile(optimizer=keras.optimizers.SGD(0.5), **compiling)
    before = values_of(model.trainable_variables)
    history = model.fit(
        tiny_families.inputs_of(task, batch),
        tiny_families.labels_of(task, batch),
        epochs=steps,
        verbose=0,
    )
    return history.history["loss"][-1], before, values_of(model.trainable_variables)


def unchanged(before, after):
    return [path for path in before if np.array_equal(before[path], after[path])]


def assert_trains(model, task, **compiling):
    loss, before, after = train(model, task, tiny_families.batch_of(), **compiling)
    assert np.isfinite(loss)
    assert all(np.isfinite(value).all() for value in after.values())
    assert [path for path in unchanged(before, after) if not expected_to_stay(path, task)] == []


def expected_to_stay(path, task):
    """Whether a variable has no gradient by its place in the model."""
    if path == "head/output/bias":
        return task in SOFTMAX_OVER_ROWS
    return path.endswith(WITHOUT_GRADIENT)


@pytest.mark.parametrize(("family", "task"), PAIRS)
def test_a_training_step_changes_every_weight(family, task):
    model = tiny_families.task_of(
        family, task, num_layers=LAYERS.get(family, 1), hidden_dropout=0.0, attention_dropout=0.0
    )
    assert_trains(model, task)


def test_a_training_step_changes_every_weight_of_an_enhanced_mask_decoder():
    position = Disentangled(buckets=4)
    encoder = tiny_families.encoder_of("deberta-v2", position=position, attention_dropout=0.0)
    assert_trains(MaskedLM(encoder, enhanced_decoder=True), "masked_lm", run_eagerly=True)


def test_only_a_pooler_that_is_not_read_is_not_trained():
    for family, task in PAIRS:
        model = tiny_families.task_of(family, task)
        trained = {v.path for v in model.trainable_variables}
        frozen = {v.path for layer in model.layers for v in layer.weights} - trained
        is_read = FAMILIES[family].head(task).pool == "pooled" or task == "pretraining"
        has_pooler = model.backbone.config.pooler is not None
        expected = {"pooler/kernel", "pooler/bias"} if has_pooler and not is_read else set()
        assert frozen == expected, (family, task)


@pytest.mark.parametrize(("family", "dtype"), HALF_PRECISION)
def test_half_precision_trains_and_rows_without_tokens_stay_finite(family, dtype):
    model = tiny_families.task_of(
        family, "token_classifier", dtype, num_layers=LAYERS.get(family, 1)
    )
    batch = tiny_families.batch_of()
    assert not batch["padding_mask"][-1].any()
    is_called = BACKEND == "tensorflow"  # where compiling takes longer
    # Loss scaling skips a step whose gradients overflow, and would skip all steps for NaN.
    loss, before, after = train(model, "token_classifier", batch, steps=2, run_eagerly=is_called)
    assert np.isfinite(loss)
    assert all(np.isfinite(value).all() for value in after.values())
    if BACKEND == "torch":  # whose fused attention serves where nothing is dropped out
        assert np.isfinite(model.predict_on_batch(batch)).all()
    stayed = [path for path in unchanged(before, after) if not expected_to_stay(path, None)]
    assert len(stayed) < len(before) // 10, stayed


def padded_to(batch, length):
    """The batch with more padding, in which anything may stand, but for the ids."""
    extra = ((0, 0), (0, length - batch["token_ids"].shape[1]))
    filling = {"token_ids": 0, "padding_mask": 0}
    return {
        name: np.pad(array, extra, constant_values=filling.get(name, 1))
        for name, array in batch.items()
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_that_follows_changes_nothing_in_a_call_or_a_compiled_graph(family):
    # BigBird's last block sees all, and is that of the padding; short inputs have full attention.
    changes = {"attention": Blocks(block_size=8)} if family == "big_bird" else {}
    encoder = tiny_families.encoder_of(family, max_sequence_length=40, **changes)
    # MobileBERT reads the embedding of what follows a token, which transformers initialises with
    # zeros for padding.
    table = encoder.token_embedding.embeddings
    table.assign(ops.concatenate((ops.zeros_like(table[:1]), table[1:])))
    batch = tiny_families.batch_of((7, 4, 1), length=7)
    real = batch["padding_mask"].astype(bool)
    expected = ops.convert_to_numpy(encoder(batch)["sequence_output"])[real]
    for length in (12, 40):
        found = encoder.predict(padded_to(batch, length), verbose=0)["sequence_output"]
        np.testing.assert_allclose(found[:, :7][real], expected, atol=2e-5)
