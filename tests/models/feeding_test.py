"""Batches: every example once, of similar length, in few shapes, averaging to the right mean."""

import numpy as np
import pytest

from kerasbert.models.feeding import ROW_MASK, Batches, TensorExamples


class Words:
    """Stands for tokenized texts: example i is `lengths[i]` times the id i + 1."""

    def __init__(self, lengths):
        self.lengths = np.array(lengths, "int32")

    def __len__(self):
        return len(self.lengths)

    def batch(self, rows):
        width = 8 if self.lengths[rows[rows >= 0]].max(initial=0) <= 8 else 16
        ids = np.zeros((len(rows), width), "int32")
        for place, row in enumerate(rows):
            if row >= 0:
                ids[place, : self.lengths[row]] = row + 1
        return {"token_ids": ids, "padding_mask": (ids > 0).astype("int32")}


LENGTHS = np.random.default_rng(0).integers(1, 17, 50)


def all_batches(batches):
    return [batches[index] for index in range(len(batches))]


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("fill", [False, True])
def test_every_example_comes_once_in_an_epoch(shuffle, fill):
    batches = Batches(Words(LENGTHS), np.arange(50), None, 8, shuffle, fill, seed=1)
    for number in range(2):
        batches.begin_pass(number)
        seen = []
        for inputs, targets, *_ in all_batches(batches):
            ids = inputs["token_ids"][:, 0]
            real = ids > 0
            np.testing.assert_array_equal(targets[real], ids[real] - 1)
            seen += targets[real].tolist()
        assert sorted(seen) == list(range(50))


def test_epochs_differ_and_a_seed_decides_them():
    def epochs(seed):
        batches = Batches(Words(LENGTHS), np.arange(50), batch_size=8, shuffle=True, seed=seed)
        orders = []
        for number in range(2):
            batches.begin_pass(number)
            orders.append(batches.order.tolist())
        return orders

    first, second = epochs(1)
    assert first != second
    assert epochs(1) == [first, second]
    assert epochs(2) != [first, second]


def test_all_batches_have_the_same_number_of_rows_and_few_widths():
    batches = all_batches(Batches(Words(LENGTHS), np.arange(50), batch_size=8))
    shapes = {inputs["token_ids"].shape for inputs, *_ in batches}
    assert shapes == {(8, 8), (8, 16)}


def test_texts_of_similar_length_stand_together():
    batches = Batches(Words(LENGTHS), batch_size=8, shuffle=True, seed=0)
    mixed = np.random.default_rng(0).permutation(48).reshape(6, 8)
    spread = [np.ptp(LENGTHS[rows[rows >= 0]]) for rows in batches.order.reshape(-1, 8)]
    assert np.mean(spread) < np.mean([np.ptp(LENGTHS[rows]) for rows in mixed]) / 2


def test_only_the_last_batch_is_filled_with_rows_that_are_marked():
    batches = all_batches(Batches(Words(LENGTHS), np.arange(50), batch_size=8))
    marks = np.concatenate([inputs[ROW_MASK] for inputs, *_ in batches])
    assert marks.sum() == 50
    for inputs, *_ in batches:
        real = inputs["padding_mask"].any(axis=1)
        np.testing.assert_array_equal(inputs[ROW_MASK], real.astype("float32"))


def test_nothing_is_marked_where_nothing_is_filled():
    for options in ({"batch_size": 10}, {"batch_size": 8, "fill": False}):
        for inputs, _ in all_batches(Batches(Words(LENGTHS), np.arange(50), **options)):
            assert ROW_MASK not in inputs


@pytest.mark.parametrize("weights", [None, np.linspace(0.1, 2.0, 50).astype("float32")])
def test_weighted_means_over_all_rows_are_those_over_the_examples(weights):
    values = np.random.default_rng(2).normal(size=50)
    batches = Batches(Words(LENGTHS), values, weights, batch_size=8)
    # Keras averages a batch over its rows, and the batches by their rows.
    found = np.mean([np.mean(y * weight) for _, y, weight in all_batches(batches)])
    expected = np.mean(values * (1 if weights is None else weights))
    assert found == pytest.approx(expected, rel=1e-5)


def test_in_training_each_batch_averages_over_its_own_examples():
    values = np.random.default_rng(2).normal(size=50)
    batches = Batches(Words(LENGTHS), values, batch_size=8, training=True)
    for inputs, targets, weights in all_batches(batches):
        real = inputs[ROW_MASK].astype(bool)
        assert np.mean(targets * weights) == pytest.approx(np.mean(targets[real]), rel=1e-5)


def test_fewer_examples_than_a_batch_are_one_batch():
    (batch,) = all_batches(Batches(Words([3, 4]), np.arange(2), batch_size=8))
    assert batch[0]["token_ids"].shape == (8, 8)


def test_ready_arrays_are_batched_and_filled_without_real_tokens():
    ids = np.arange(12).reshape(3, 4)
    examples = TensorExamples({"token_ids": ids, "padding_mask": ids * 0 + 1})
    assert len(examples) == 3
    batch = examples.batch(np.array([2, 0, -1]))
    np.testing.assert_array_equal(batch["token_ids"][:2], ids[[2, 0]])
    assert batch["padding_mask"].tolist() == [[1] * 4, [1] * 4, [0] * 4]


def test_arrays_that_differ_in_their_rows_are_an_error():
    with pytest.raises(ValueError, match=r"'a': 2.*'b': 3"):
        TensorExamples({"a": np.zeros((2, 4)), "b": np.zeros((3, 4))})
