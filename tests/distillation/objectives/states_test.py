"""Objectives on hidden states against their papers' formulas in plain NumPy."""

import numpy as np
import pytest

from kerasbert.distillation import Distiller
from kerasbert.distillation.objectives import (
    FeatureMaps,
    FirstTokenStates,
    HiddenStates,
    StateDirections,
)
from tests.distillation.conftest import TEXTS, numpy, states, traced


def value_of(objective, teacher, student):
    values = Distiller(teacher, student, [objective]).compute_objectives(TEXTS)
    return numpy(values[objective.name])


def states_of(student, *models):
    """Hidden states of models, and the mask of real tokens."""
    inputs = student.preprocessor(TEXTS)
    states = [traced(model, inputs, "hidden_states") for model in models]
    return (*states, inputs["padding_mask"].astype(bool))


def unit(states):
    return states / np.linalg.norm(states, axis=-1, keepdims=True)


def test_directions_are_one_minus_the_cosine_of_real_tokens(make_classifier):
    teacher, student = make_classifier(num_layers=3), make_classifier()
    theirs, ours, real = states_of(student, teacher, student)
    cosine = (unit(theirs[-1]) * unit(ours[-1])).sum(-1)[real]
    value = value_of(StateDirections(), teacher, student)
    np.testing.assert_allclose(value, 1 - cosine.mean(), rtol=1e-4)


def test_first_token_states_are_those_of_patient_distillation(make_classifier):
    teacher, student = make_classifier(num_layers=6), make_classifier(num_layers=3)
    theirs, ours, _ = states_of(student, teacher, student)
    expected = sum(
        ((unit(theirs[t][:, 0]) - unit(ours[s][:, 0])) ** 2).mean() for s, t in [(1, 2), (2, 4)]
    )
    value = value_of(FirstTokenStates(), teacher, student)
    np.testing.assert_allclose(value, expected, rtol=1e-4)


def test_a_student_of_one_layer_has_no_inner_layer(make_classifier):
    teacher, student = make_classifier(), make_classifier(num_layers=1)
    with pytest.raises(ValueError, match=r"layer_map=\{1: -1\}"):
        Distiller(teacher, student, [FirstTokenStates()])
    Distiller(teacher, student, [FirstTokenStates({1: -1})])


def test_feature_maps_are_compared_normalized_and_by_their_statistics(make_classifier):
    teacher, student = make_classifier(num_layers=4), make_classifier()
    theirs, ours, real = states_of(student, teacher, student)

    def parts(states):
        mean, variance = states.mean(-1), states.var(-1)
        return (states - mean[..., None]) / np.sqrt(variance)[..., None], mean, variance

    # Post-norm blocks of new models give maps of mean 0 and variance 1; scale and shift them.
    expected = 0
    for s, t in [(1, 2), (2, 4)]:
        (a, mean_a, variance_a), (b, mean_b, variance_b) = parts(ours[s]), parts(theirs[t])
        error = ((a - b) ** 2).mean(-1) + 50 * (mean_a - mean_b) ** 2
        expected += (error + 0.05 * np.abs(variance_a - variance_b))[real].mean()
    np.testing.assert_allclose(value_of(FeatureMaps(), teacher, student), expected, rtol=1e-3)


def test_hidden_states_are_the_squared_error_over_real_tokens_summed_over_layers(make_classifier):
    teacher, student = make_classifier(num_layers=4), make_classifier(num_layers=2)
    distiller = Distiller(teacher, student, [HiddenStates()])
    inputs = student.preprocessor(TEXTS)
    real = inputs["padding_mask"].astype(bool)
    theirs, ours = states(teacher, inputs), states(student, inputs)
    expected = sum(((ours[i] - theirs[j]) ** 2)[real].mean() for i, j in [(0, 0), (1, 2), (2, 4)])
    value = distiller.compute_objectives(TEXTS)["hidden_states"]
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-4)


@pytest.mark.parametrize("shared", [True, False])
def test_students_of_another_width_are_projected(make_classifier, shared):
    teacher, student = make_classifier(hidden_dim=16), make_classifier(hidden_dim=8)
    objective = HiddenStates({1: 1, 2: 2}, shared_projection=shared)
    distiller = Distiller(teacher, student, [objective])
    assert len(objective.layers) == (1 if shared else 2)
    inputs = student.preprocessor(TEXTS)
    real = inputs["padding_mask"].astype(bool)
    theirs, ours = states(teacher, inputs), states(student, inputs)
    expected = 0
    for pair, layer in enumerate((1, 2)):
        projection = objective.layers[0 if shared else pair]
        projected = ours[layer] @ numpy(projection.kernel) + numpy(projection.bias)
        expected += ((projected - theirs[layer]) ** 2)[real].mean()
    value = distiller.compute_objectives(TEXTS)["hidden_states"]
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-4)
