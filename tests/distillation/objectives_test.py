"""Objectives against their papers' formulas in plain NumPy."""

import keras
import numpy as np
import pytest
from keras import ops

from kerasbert.distillation import Distiller, make_student
from kerasbert.distillation.objectives import HiddenStates, Outputs, SoftTargets
from tests.distillation.conftest import TEXTS, numpy, states


def softmax(logits):
    exponents = np.exp(logits - logits.max(-1, keepdims=True))
    return exponents / exponents.sum(-1, keepdims=True)


def kl(teacher, student, temperature):
    p, q = softmax(teacher / temperature), softmax(student / temperature)
    return (p * (np.log(p) - np.log(q))).sum(-1)


def logits_of(model):
    inputs = model.preprocessor(TEXTS)
    return np.asarray(numpy(model(inputs)))


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_soft_targets_are_hintons_divergence_times_the_squared_temperature(
    make_classifier, temperature
):
    teacher, student = make_classifier(), make_classifier()
    distiller = Distiller(teacher, student, [SoftTargets(temperature=temperature)])
    value = distiller.compute_objectives(TEXTS)["soft_targets"]
    expected = kl(logits_of(teacher), logits_of(student), temperature).mean() * temperature**2
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-4, atol=1e-6)


def test_the_squared_temperature_can_be_left_out(make_classifier):
    teacher, student = make_classifier(), make_classifier()
    distiller = Distiller(teacher, student, [SoftTargets(temperature=3.0, scale=False)])
    value = distiller.compute_objectives(TEXTS)["soft_targets"]
    np.testing.assert_allclose(
        numpy(value), kl(logits_of(teacher), logits_of(student), 3.0).mean(), rtol=1e-4
    )


def test_soft_targets_of_labels_are_the_divergence_of_each_labels_two_outcomes(make_classifier):
    teacher, student = make_classifier(multi_label=True), make_classifier(multi_label=True)
    distiller = Distiller(teacher, student, [SoftTargets(temperature=2.0)])
    value = distiller.compute_objectives(TEXTS)["soft_targets"]
    p, q = (1 / (1 + np.exp(-logits_of(model) / 2)) for model in (teacher, student))
    expected = p * np.log(p / q) + (1 - p) * np.log((1 - p) / (1 - q))
    np.testing.assert_allclose(numpy(value), 4 * expected.mean(), rtol=1e-4)


def test_soft_targets_of_a_regression_are_its_squared_difference(make_classifier):
    teacher, student = make_classifier(num_classes=1), make_classifier(num_classes=1)
    distiller = Distiller(teacher, student, [SoftTargets(temperature=2.0)])
    value = distiller.compute_objectives(TEXTS)["soft_targets"]
    expected = ((logits_of(teacher) - logits_of(student)) ** 2).mean()
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-4)


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


def test_values_do_not_depend_on_how_much_padding_a_batch_carries(make_classifier):
    teacher, student = make_classifier(num_layers=4), make_classifier(hidden_dim=8)
    distiller = Distiller(teacher, student, [SoftTargets(), HiddenStates()])
    examples = student.preprocessor.tokenize(TEXTS)
    rows = np.arange(len(TEXTS))
    narrow = distiller.compute_objectives(examples.batch(rows, width=examples.lengths.max()))
    wide = distiller.compute_objectives(examples.batch(rows, width=32))
    for name in narrow:
        np.testing.assert_allclose(numpy(narrow[name]), numpy(wide[name]), rtol=1e-5)


def test_examples_of_weight_zero_do_not_count(make_classifier):
    teacher, student = make_classifier(), make_classifier()
    distiller = Distiller(teacher, student, [SoftTargets(), HiddenStates()])
    weights = np.array([1, 1, 1] + [0] * 7, "float32")
    weighted = distiller.compute_objectives(TEXTS, sample_weight=weights)
    alone = distiller.compute_objectives(TEXTS[:3])
    for name in alone:
        np.testing.assert_allclose(numpy(weighted[name]), numpy(alone[name]), rtol=1e-4, atol=1e-6)


def test_sample_weights_weigh_the_mean(make_classifier):
    teacher, student = make_classifier(), make_classifier()
    distiller = Distiller(teacher, student, [SoftTargets(temperature=1.0)])
    weights = np.arange(10).astype("float32")
    value = distiller.compute_objectives(TEXTS, sample_weight=weights)["soft_targets"]
    each = kl(logits_of(teacher), logits_of(student), 1.0)
    np.testing.assert_allclose(numpy(value), (each * weights).sum() / weights.sum(), rtol=1e-4)


def test_a_student_that_equals_its_teacher_loses_nothing(make_classifier):
    teacher = make_classifier()
    student = make_student(teacher, layers=[0, 1])
    values = Distiller(teacher, student, [SoftTargets(), HiddenStates()]).compute_objectives(TEXTS)
    assert all(abs(float(numpy(value))) < 1e-6 for value in values.values())


def test_values_are_finite_in_half_precision(make_classifier):
    keras.config.set_dtype_policy("mixed_float16")
    try:
        teacher, student = make_classifier(), make_classifier(hidden_dim=8)
        distiller = Distiller(teacher, student, [SoftTargets(), HiddenStates()])
        values = distiller.compute_objectives(TEXTS)
    finally:
        keras.config.set_dtype_policy("float32")
    assert all(np.isfinite(numpy(value)) for value in values.values())
    assert all(
        keras.backend.standardize_dtype(value.dtype) == "float32" for value in values.values()
    )


def test_weights_that_are_all_zero_give_zero_rather_than_nan(make_classifier):
    teacher, student = make_classifier(), make_classifier()
    values = Distiller(teacher, student, [SoftTargets(), HiddenStates()]).compute_objectives(
        TEXTS, sample_weight=np.zeros(10, "float32")
    )
    assert all(float(numpy(value)) == 0 for value in values.values())


@pytest.mark.parametrize("temperature", [0, -1.0])
def test_a_temperature_that_is_not_positive_is_refused(temperature):
    with pytest.raises(ValueError, match="temperature"):
        SoftTargets(temperature=temperature)


def test_logits_of_any_keras_model_can_be_targets(make_classifier):
    student = make_classifier()
    ids = keras.Input((None,), dtype="int32", name="token_ids")
    counts = ops.sum(keras.layers.Embedding(90, 2)(ids), axis=1)
    teacher = keras.Model({"token_ids": ids}, counts)
    distiller = Distiller(teacher, student, [SoftTargets(temperature=1.0)])
    inputs = student.preprocessor(TEXTS)
    expected = kl(
        np.asarray(numpy(teacher({"token_ids": inputs["token_ids"]}))), logits_of(student), 1.0
    ).mean()
    value = distiller.compute_objectives(TEXTS)["soft_targets"]
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-4)
    with pytest.raises(ValueError, match="no kerasbert encoder"):
        Distiller(teacher, student, [HiddenStates()])


def test_outputs_hold_logits_and_traces():
    outputs = Outputs(logits=ops.zeros((1, 2)), traces={})
    loss = SoftTargets(temperature=1.0).compute_loss(outputs, outputs)
    assert float(numpy(loss)) == 0
