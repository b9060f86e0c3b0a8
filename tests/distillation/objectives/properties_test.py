"""What holds for every objective."""

import keras
import numpy as np
import pytest

from kerasbert.distillation import Distiller, make_student
from kerasbert.distillation.objectives import (
    AttentionScores,
    AttentionWeights,
    FeatureMaps,
    FirstTokenStates,
    HiddenStates,
    Relations,
    SoftTargets,
    StateDirections,
)
from tests.distillation.conftest import TEXTS, numpy

ON_WIDTHS = (HiddenStates, StateDirections, FirstTokenStates, FeatureMaps)


def all_objectives():
    """One of each that a classifier's student can have."""
    return [
        SoftTargets(),
        HiddenStates(),
        StateDirections(),
        FirstTokenStates(),
        AttentionScores(),
        AttentionWeights(),
        Relations(heads=2),
        FeatureMaps(),
    ]


def make_pair(make_classifier, **of_teacher):
    return make_classifier(num_layers=4, **of_teacher), make_classifier(hidden_dim=8)


def test_values_do_not_depend_on_how_much_padding_a_batch_carries(make_classifier):
    teacher, student = make_pair(make_classifier)
    distiller = Distiller(teacher, student, all_objectives())
    examples = student.preprocessor.tokenize(TEXTS)
    rows = np.arange(len(TEXTS))
    narrow = distiller.compute_objectives(examples.batch(rows, width=examples.lengths.max()))
    wide = distiller.compute_objectives(examples.batch(rows, width=32))
    for name in narrow:
        np.testing.assert_allclose(numpy(narrow[name]), numpy(wide[name]), rtol=1e-5, err_msg=name)


def test_examples_of_weight_zero_do_not_count(make_classifier):
    distiller = Distiller(*make_pair(make_classifier), all_objectives())
    weights = np.array([1, 1, 1] + [0] * 7, "float32")
    weighted = distiller.compute_objectives(TEXTS, sample_weight=weights)
    alone = distiller.compute_objectives(TEXTS[:3])
    for name in alone:
        np.testing.assert_allclose(
            numpy(weighted[name]), numpy(alone[name]), rtol=1e-4, atol=1e-6, err_msg=name
        )


def test_weights_that_are_all_zero_give_zero_rather_than_nan(make_classifier):
    values = Distiller(*make_pair(make_classifier), all_objectives()).compute_objectives(
        TEXTS, sample_weight=np.zeros(10, "float32")
    )
    assert all(float(numpy(value)) == 0 for value in values.values())


def test_a_student_that_equals_its_teacher_loses_nothing(make_classifier):
    teacher = make_classifier()
    student = make_student(teacher, layers=[0, 1])
    values = Distiller(teacher, student, all_objectives()).compute_objectives(TEXTS)
    assert {name for name, value in values.items() if abs(float(numpy(value))) > 1e-5} == set()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_values_are_finite_in_half_precision(make_classifier, policy):
    keras.config.set_dtype_policy(policy)
    try:
        distiller = Distiller(*make_pair(make_classifier), all_objectives())
        values = distiller.compute_objectives(TEXTS)
    finally:
        keras.config.set_dtype_policy("float32")
    assert all(np.isfinite(numpy(value)) for value in values.values())
    assert all(
        keras.backend.standardize_dtype(value.dtype) == "float32" for value in values.values()
    )


@pytest.mark.parametrize("objective", all_objectives(), ids=lambda objective: objective.name)
def test_student_and_projections_learn_and_the_teacher_does_not(make_classifier, objective):
    teacher, student = make_pair(make_classifier)
    distiller = Distiller(teacher, student, [objective], label_weight=0)
    distiller.compile(optimizer=keras.optimizers.SGD(0.01))
    before = {
        variable.path: numpy(variable).copy()
        for model in (student, *objective.layers)
        for variable in model.weights
    }
    of_teacher = [numpy(variable).copy() for variable in teacher.weights]
    history = distiller.fit(TEXTS, epochs=5, verbose=0).history

    assert history[objective.name][-1] < history[objective.name][0]
    for variable, value in zip(teacher.weights, of_teacher, strict=True):
        np.testing.assert_array_equal(numpy(variable), value)
    has_changed = {
        variable.path: bool((numpy(variable) != before[variable.path]).any())
        for model in (student, *objective.layers)
        for variable in model.weights
    }
    assert has_changed["embeddings/token/embeddings"]
    assert bool(objective.layers) == isinstance(objective, ON_WIDTHS)
    assert all(
        has_changed[variable.path] for layer in objective.layers for variable in layer.weights
    )
