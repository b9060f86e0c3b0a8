"""F1 of entities over batches, against `entity_scores`, which is tested against seqeval."""

import keras
import numpy as np
import pytest
from keras import ops

from kerasbert.metrics import EntityF1, entity_scores

IOB2 = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
IOBES = ["S-LOC", "B-PER", "I-PER", "E-PER", "O", "B-LOC", "I-LOC", "E-LOC", "S-PER"]
PLAIN = ["PER", "O", "LOC"]
CASES = [
    (IOB2, "iob2", False),
    (IOB2, "iob1", False),
    (IOB2, "iob2", True),
    (IOBES, "iobes", False),
    (IOBES, "iobes", True),
    (PLAIN, "plain", False),
]


def random_batch(labels, seed, rows=6, length=14):
    """Labels int (B, T), about a third of them -100, and logits that are right half of the time."""
    generator = np.random.default_rng(seed)
    true = generator.integers(len(labels), size=(rows, length))
    guesses = generator.integers(len(labels), size=(rows, length))
    predicted = np.where(generator.random((rows, length)) < 0.5, true, guesses)
    logits = generator.normal(size=(rows, length, len(labels)))
    np.put_along_axis(logits, predicted[..., None], 9, axis=-1)
    true[generator.random((rows, length)) < 0.35] = -100
    return true.astype("int32"), logits.astype("float32")


def sentences(labels, true, logits, counts=None):
    """The tags of labelled tokens, right and predicted, by row."""
    counts = true >= 0 if counts is None else counts
    return tuple(
        [[labels[index] for index in row[keep]] for row, keep in zip(ids, counts, strict=True)]
        for ids in (true, logits.argmax(-1))
    )


@pytest.mark.parametrize(("labels", "scheme", "strict"), CASES)
def test_batches_add_up_to_the_score_of_all_sentences(labels, scheme, strict):
    metric = EntityF1(labels, scheme, strict)
    all_true, all_predicted = [], []
    for seed, length in enumerate([14, 1, 9]):
        true, logits = random_batch(labels, seed, length=length)
        metric.update_state(true, logits)
        right, predicted = sentences(labels, true, logits)
        all_true += right
        all_predicted += predicted
    expected = entity_scores(all_true, all_predicted, scheme, strict)["f1"]
    assert 0 < expected < 1
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)
    metric.reset_state()
    assert float(metric.result()) == 0


def test_unlabelled_tokens_do_not_interrupt_an_entity():
    metric = EntityF1(IOB2)
    # "Anna" in two pieces, "Lee" in two: one entity; the second pieces' logits do not count.
    true = [[-100, 1, -100, 2, -100, 0, -100]]
    predicted = np.eye(len(IOB2))[[[3, 1, 4, 2, 0, 0, 3]]]
    metric.update_state(true, predicted)
    assert float(metric.result()) == 1


@pytest.mark.parametrize("shape", ["rows", "column", "tokens"])
def test_weight_zero_drops_rows_and_tokens(shape):
    true, logits = random_batch(IOB2, seed=7)
    weights = np.array([1, 0, 2, 0.5, 0, 1], "float32")
    counts = (true >= 0) & (weights[:, None] > 0)
    if shape == "column":
        weights = weights[:, None]
    if shape == "tokens":
        weights = np.random.default_rng(0).integers(2, size=true.shape).astype("float32")
        counts = (true >= 0) & (weights > 0)
    metric = EntityF1(IOB2)
    metric.update_state(true, logits, sample_weight=weights)
    expected = entity_scores(*sentences(IOB2, true, logits, counts))["f1"]
    assert float(metric.result()) == pytest.approx(expected, abs=1e-6)


class Batches(keras.utils.PyDataset):
    """Batches of different lengths, with weights of rows."""

    def __init__(self, labels):
        super().__init__()
        self.batches = [
            random_batch(labels, seed, length=length) for seed, length in [(4, 9), (5, 3)]
        ]
        self.weights = np.array([1, 0, 2, 0.5, 0, 1], "float32")

    def __len__(self):
        return len(self.batches)

    def __getitem__(self, index):
        true, logits = self.batches[index]
        return logits, true, self.weights


@pytest.mark.parametrize(("labels", "scheme", "strict"), CASES)
def test_compiled_evaluation_of_batches_of_different_lengths_gives_the_same(labels, scheme, strict):
    inputs = keras.Input((None, len(labels)))
    model = keras.Model(inputs, keras.layers.Activation("linear")(inputs))
    model.compile(
        loss=lambda y_true, y_pred: ops.mean(y_pred, axis=(1, 2)),
        weighted_metrics=[EntityF1(labels, scheme, strict)],
        jit_compile=keras.backend.backend() != "torch",  # its compiler would take minutes
    )
    data = Batches(labels)
    found = model.evaluate(data, verbose=0, return_dict=True)["entity_f1"]
    parts = [[], []]
    for true, logits in data.batches:
        counts = (true >= 0) & (data.weights[:, None] > 0)
        for part, tags in zip(parts, sentences(labels, true, logits, counts), strict=True):
            part += tags
    expected = entity_scores(*parts, scheme, strict)["f1"]
    assert 0 < expected < 1
    assert found == pytest.approx(expected, abs=1e-6)


def test_is_restored_from_its_configuration():
    metric = EntityF1(IOBES, "iobes", strict=True, name="strict")
    config = keras.saving.serialize_keras_object(metric)
    restored = keras.saving.deserialize_keras_object(config)
    true, logits = random_batch(IOBES, seed=3)
    for each in (metric, restored):
        each.update_state(true, logits)
    assert restored.name == "strict"
    assert float(restored.result()) == float(metric.result()) > 0


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (["O", "PER"], {}, "tag='PER'"),
        (IOB2, {"scheme": "bio"}, "scheme='bio'"),
        (PLAIN, {"scheme": "plain", "strict": True}, "`strict` is for"),
    ],
)
def test_labels_that_do_not_fit_are_refused(labels, options, message):
    with pytest.raises(ValueError, match=message):
        EntityF1(labels, **options)
