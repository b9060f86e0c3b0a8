"""Soft targets against Hinton's formula in plain NumPy."""

import keras
import numpy as np
import pytest
from keras import ops

from kerasbert.distillation import Distiller
from kerasbert.distillation.objectives import Batch, HiddenStates, Outputs, SoftTargets
from tests.distillation.conftest import TEXTS, numpy, softmax


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


def test_sample_weights_weigh_the_mean(make_classifier):
    teacher, student = make_classifier(), make_classifier()
    distiller = Distiller(teacher, student, [SoftTargets(temperature=1.0)])
    weights = np.arange(10).astype("float32")
    value = distiller.compute_objectives(TEXTS, sample_weight=weights)["soft_targets"]
    each = kl(logits_of(teacher), logits_of(student), 1.0)
    np.testing.assert_allclose(numpy(value), (each * weights).sum() / weights.sum(), rtol=1e-4)


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
    loss = SoftTargets(temperature=1.0).compute_loss(outputs, outputs, Batch())
    assert float(numpy(loss)) == 0
