import numpy as np
import pytest

from kerasbert.text.packing import (
    BUCKETS,
    Examples,
    bucket_for,
    longest_first,
    pack,
    resolve_buckets,
)
from kerasbert.text.ragged import Ragged
from kerasbert.text.template import Layout

SINGLE = Layout(ids=(101, None, 102), segments=(0, 0, 0))
PAIR = Layout(ids=(101, None, 102, None, 102), segments=(0, 0, 0, 1, 1))


def ragged(rows):
    values = np.array([index for row in rows for index in row], np.int32)
    return Ragged.of(values, np.array([len(row) for row in rows], np.int32))


def examples(rows, buckets=(4, 8)):
    token_ids, segment_ids = pack([ragged(rows)], SINGLE)
    return Examples(token_ids, segment_ids, pad_token_id=9, buckets=buckets)


def test_the_bucket_is_the_smallest_that_holds_the_length():
    found = [bucket_for(length, BUCKETS) for length in (0, 1, 16, 17, 128, 129, 512)]
    assert found == [16, 16, 16, 32, 128, 256, 512]
    with pytest.raises(ValueError, match="length=513"):
        bucket_for(513, BUCKETS)


def test_the_limit_closes_the_buckets():
    assert resolve_buckets(BUCKETS, 128) == (16, 32, 64, 128)
    assert resolve_buckets(BUCKETS, 100) == (16, 32, 64, 100)
    assert resolve_buckets(BUCKETS, 1024) == (*BUCKETS, 1024)
    assert resolve_buckets((), 100) == (100,)


@pytest.mark.parametrize(
    "buckets", [(32, 16), (16, 16), (0, 16), (-1,), (16.0,), (True, 2), ("16",)]
)
def test_buckets_that_do_not_ascend_are_refused(buckets):
    with pytest.raises(ValueError, match="ascending positive ints"):
        resolve_buckets(buckets, 128)


@pytest.mark.parametrize("sequence_length", [0, -1, 1.5, "128", None, True])
def test_a_limit_that_is_not_a_positive_int_is_refused(sequence_length):
    with pytest.raises(ValueError, match="`sequence_length` must be a positive int"):
        resolve_buckets(BUCKETS, sequence_length)


def test_a_batch_is_padded_to_the_bucket_of_its_longest_row():
    batch = examples([[1], [1, 2, 3], []]).batch([0, 2])
    assert batch["token_ids"].tolist() == [[101, 1, 102, 9], [101, 102, 9, 9]]
    assert batch["padding_mask"].tolist() == [[1, 1, 1, 0], [1, 1, 0, 0]]
    assert batch["segment_ids"].tolist() == [[0] * 4, [0] * 4]
    assert all(array.dtype == np.int32 for array in batch.values())
    assert examples([[1], [1, 2, 3]]).batch([0, 1])["token_ids"].shape == (2, 8)


def test_rows_come_in_the_order_asked_for_and_repeat():
    batch = examples([[1], [2], [3]]).batch([2, 0, 2])
    assert batch["token_ids"][:, 1].tolist() == [3, 1, 3]


def test_minus_one_is_a_row_without_real_tokens():
    batch = examples([[1], [2, 3]]).batch([1, -1])
    assert batch["token_ids"].tolist() == [[101, 2, 3, 102], [9] * 4]
    assert batch["padding_mask"].tolist() == [[1] * 4, [0] * 4]
    assert examples([[1]]).batch([-1, -1])["padding_mask"].sum() == 0


def test_an_empty_batch_has_the_smallest_width():
    assert examples([[1]]).batch([])["token_ids"].shape == (0, 4)
    assert examples([]).batch([])["token_ids"].shape == (0, 4)


def test_a_given_width_wins_and_must_be_enough():
    assert examples([[1]]).batch([0], width=7)["token_ids"].shape == (1, 7)
    with pytest.raises(ValueError, match="width=2, length=3"):
        examples([[1]]).batch([0], width=2)


@pytest.mark.parametrize("position", [2, -2])
def test_a_position_without_a_text_is_refused(position):
    with pytest.raises(IndexError, match=str(position)):
        examples([[1], [2]]).batch([0, position])


def test_lengths_count_special_tokens():
    found = examples([[1], [], [1, 2, 3]])
    assert found.lengths.tolist() == [3, 2, 5]
    assert found.lengths.dtype == np.int32
    assert len(found) == 3


def test_pairs_are_packed_with_their_segments():
    token_ids, segment_ids = pack([ragged([[1, 2], []]), ragged([[3], [4, 5]])], PAIR)
    assert token_ids.values.tolist() == [101, 1, 2, 102, 3, 102, 101, 102, 4, 5, 102]
    assert segment_ids.tolist() == [0, 0, 0, 0, 1, 1, 0, 0, 1, 1, 1]
    assert token_ids.lengths.tolist() == [6, 5]


def test_cut_rows_lose_their_ends():
    rows = ragged([[1, 2, 3], [4, 5, 6]]).cut(np.array([2, 1], np.int32))
    assert pack([rows], SINGLE)[0].values.tolist() == [101, 1, 2, 102, 101, 4, 102]


def test_packing_agrees_with_rows_put_together_one_by_one():
    random = np.random.default_rng(3)
    rows = [list(random.integers(0, 50, random.integers(0, 9))) for _ in range(300)]
    token_ids, segment_ids = pack([ragged(rows), ragged(rows[::-1])], PAIR)
    found = Examples(token_ids, segment_ids, 9, (16, 32)).batch(np.arange(300), width=21)
    for index, (first, second) in enumerate(zip(rows, rows[::-1], strict=True)):
        row = [101, *first, 102, *second, 102]
        padding = 21 - len(row)
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1) + [0] * padding
        assert found["token_ids"][index].tolist() == row + [9] * padding
        assert found["segment_ids"][index].tolist() == segments
        assert found["padding_mask"][index].sum() == len(row)


def test_the_longer_text_gives_first():
    first = np.array([10, 3, 10, 2, 4, 0, 11], np.int32)
    second = np.array([3, 10, 10, 3, 4, 10, 10], np.int32)
    kept_first, kept_second = longest_first(first, second, 7)
    assert kept_first.tolist() == [4, 3, 3, 2, 3, 0, 4]
    assert kept_second.tolist() == [3, 4, 4, 3, 4, 7, 3]
