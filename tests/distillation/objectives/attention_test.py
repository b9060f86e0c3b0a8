"""Attention objectives against their papers' formulas in plain NumPy."""

import numpy as np
import pytest

from kerasbert.distillation import Distiller
from kerasbert.distillation.objectives import AttentionScores, AttentionWeights
from tests.distillation.conftest import TEXTS, numpy, traced


def value_of(objective, teacher, student, **kwargs):
    values = Distiller(teacher, student, [objective]).compute_objectives(TEXTS, **kwargs)
    return numpy(values[objective.name])


def lengths_of(student):
    return student.preprocessor(TEXTS)["padding_mask"].sum(1)


def scores_error(theirs, ours, lengths):
    """Squared error over the pairs of real tokens of all texts, the mean over heads."""
    errors = [
        ((a[:, :n, :n] - b[:, :n, :n]) ** 2).mean(0).ravel()
        for a, b, n in zip(theirs, ours, lengths, strict=True)
    ]
    return np.concatenate(errors).mean()


def divergence(theirs, ours, lengths):
    """KL of each real token's attention, the mean over these and over heads."""
    values = []
    for p, q, n in zip(theirs, ours, lengths, strict=True):
        p, q = p[:, :n, :n], q[:, :n, :n]
        values.append((p * (np.log(p) - np.log(q))).sum(-1).mean(0))
    return np.concatenate(values).mean()


def test_scores_are_compared_over_pairs_of_real_tokens(make_classifier):
    teacher, student = make_classifier(num_layers=4), make_classifier()
    inputs = student.preprocessor(TEXTS)
    theirs, ours = (traced(model, inputs, "attention_scores") for model in (teacher, student))
    expected = sum(
        scores_error(theirs[t], ours[s], lengths_of(student)) for s, t in [(0, 1), (1, 3)]
    )
    np.testing.assert_allclose(value_of(AttentionScores(), teacher, student), expected, rtol=1e-4)


def test_unequal_heads_are_compared_by_their_means(make_classifier):
    teacher, student = make_classifier(num_heads=4), make_classifier(num_heads=2)
    inputs = student.preprocessor(TEXTS)
    theirs, ours = (
        [layer.mean(1, keepdims=True) for layer in traced(model, inputs, "attention_scores")]
        for model in (teacher, student)
    )
    expected = scores_error(theirs[1], ours[1], lengths_of(student))
    value = value_of(AttentionScores({-1: -1}), teacher, student)
    np.testing.assert_allclose(value, expected, rtol=1e-4)


def test_a_students_heads_may_learn_from_chosen_ones(make_classifier):
    teacher, student = make_classifier(num_heads=4), make_classifier(num_heads=2)
    inputs = student.preprocessor(TEXTS)
    theirs, ours = (traced(model, inputs, "attention_weights")[1] for model in (teacher, student))
    expected = divergence(theirs[:, [3, 0]], ours, lengths_of(student))
    value = value_of(AttentionWeights(heads=[3, 0]), teacher, student)
    np.testing.assert_allclose(value, expected, rtol=1e-4)


def test_attention_of_the_last_layer_is_the_default_of_minilm(make_classifier):
    teacher, student = make_classifier(num_layers=3), make_classifier()
    inputs = student.preprocessor(TEXTS)
    theirs, ours = (traced(model, inputs, "attention_weights")[-1] for model in (teacher, student))
    expected = divergence(theirs, ours, lengths_of(student))
    np.testing.assert_allclose(value_of(AttentionWeights(), teacher, student), expected, rtol=1e-4)


@pytest.mark.parametrize("heads", [[0], [0, 4], [0, 1, 2]])
def test_heads_that_do_not_fit_are_refused(make_classifier, heads):
    with pytest.raises(ValueError, match="teacher's 4 heads for each of the student's 2"):
        Distiller(make_classifier(num_heads=4), make_classifier(), [AttentionScores(heads=heads)])


def test_embeddings_attend_to_nothing(make_classifier):
    with pytest.raises(ValueError, match=r"student's layers are counted from 1.*layer 0"):
        Distiller(make_classifier(), make_classifier(), [AttentionScores({0: 1})])
    with pytest.raises(ValueError, match="'sum'"):
        AttentionScores(heads="sum")
