import numpy as np
import pytest

from kerasbert.export.parity import PAIRS, TEXTS, activate, agreement, parity_batches

LOGITS = np.log([[1.0, 2.0, 5.0], [6.0, 3.0, 1.0]])


def test_softmax_and_sigmoid_turn_log_odds_into_probabilities():
    np.testing.assert_allclose(
        activate(LOGITS, "softmax"), [[1 / 8, 2 / 8, 5 / 8], [0.6, 0.3, 0.1]]
    )
    np.testing.assert_allclose(activate(LOGITS, "sigmoid")[0], [1 / 2, 2 / 3, 5 / 6])
    np.testing.assert_array_equal(activate(LOGITS, None), LOGITS)


def test_agreement_counts_rows_with_the_same_best_class():
    other = LOGITS.copy()
    other[1] = [0.0, 0.0, 9.0]
    assert agreement(LOGITS, LOGITS, threshold=None) == 1.0
    assert agreement(LOGITS, other, threshold=None) == 0.5


def test_agreement_of_several_labels_counts_decisions():
    expected = np.array([[0.9, 0.1, 0.6, 0.2]])
    received = np.array([[0.8, 0.7, 0.7, 0.1]])
    assert agreement(expected, received, threshold=0.5) == 0.75


def test_regression_has_no_agreement():
    assert agreement(np.ones((3, 1)), np.ones((3, 1)), threshold=None) is None


@pytest.fixture
def preprocessor(bert):
    return type(bert.preprocessor)(bert.preprocessor.tokenizer, 16, buckets=(16,))


# Cutting the long ones is intended, so it must not warn.
@pytest.mark.filterwarnings("error")
def test_batches_hold_texts_and_pairs(preprocessor):
    texts, pairs = parity_batches(preprocessor, num_segments=2)
    assert texts["token_ids"].shape == (len(TEXTS), 16)
    assert pairs["token_ids"].shape == (len(PAIRS), 16)
    assert texts["padding_mask"].sum(axis=1).min() == 2  # the empty text: [CLS] [SEP]
    assert pairs["segment_ids"].max() == 1


@pytest.mark.parametrize(("num_segments", "num_batches"), [(0, 2), (1, 1), (2, 2)])
def test_no_pairs_for_an_encoder_with_one_segment(preprocessor, num_segments, num_batches):
    # Without segments the ids are ignored; with one, that of the second text is out of range.
    assert len(parity_batches(preprocessor, num_segments)) == num_batches
