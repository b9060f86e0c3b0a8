"""Soft targets of every task against Hinton's divergence in plain NumPy."""

import keras
import numpy as np
import pytest

import kerasbert
from kerasbert.distillation import Distiller
from kerasbert.distillation.objectives import (
    AttentionScores,
    FirstTokenStates,
    HiddenStates,
    Relations,
    SoftTargets,
)
from tests.distillation.conftest import TEXTS, numpy, softmax

WORDS = [text.split() for text in TEXTS]
TAGS = [["O"] * (len(words) - 1) + ["B-end"] for words in WORDS]
QUESTIONS = {"question": ["what wakes us", "which song"] * 2, "context": TEXTS[4:8]}
ANSWERS = [
    {"text": "alarm", "start": 0},
    {},
    {"text": "wake", "start": 0},
    {"text": "some", "start": 0},
]
CHOICES = {"text": TEXTS[:3], "choices": [["an alarm", "a slow song"]] * 3}


@pytest.fixture
def make(make_classifier):
    """Makes a task of a class on a tiny encoder."""

    def make(cls, num_layers=2, **kwargs):
        classifier = make_classifier(num_layers=num_layers)
        windows = {"stride": 4} if cls is kerasbert.QuestionAnswerer else {}
        preprocessor = cls.preprocessor_cls(
            classifier.preprocessor.tokenizer, sequence_length=32, **windows
        )
        return cls(classifier.backbone, preprocessor=preprocessor, **kwargs)

    return make


def kl(theirs, ours, temperature):
    """Over the last axis, times T²."""
    p, q = softmax(theirs / temperature), softmax(ours / temperature)
    safe = np.where(p > 0, p, 1)
    ratio = np.where(p > 0, np.log(safe) - np.log(np.where(p > 0, q, 1)), 0)
    return (p * ratio).sum(-1) * temperature**2


def run(teacher, student, x, y=None, **kwargs):
    """The value; the two models' outputs; and the batch."""
    objective = SoftTargets(temperature=2.0, **kwargs)
    distiller = Distiller(teacher, student, [objective])
    value = numpy(distiller.compute_objectives(x, y)["soft_targets"])
    inputs, targets, _ = distiller._batch(x, y, None)
    outputs = [np.asarray(numpy(model(inputs))) for model in (teacher, student)]
    return value, *outputs, inputs, targets


def test_tags_are_those_of_real_tokens(make):
    labels = ["O", "B-end"]
    teacher, student = (make(kerasbert.TokenClassifier, layers, labels=labels) for layers in (3, 2))
    value, theirs, ours, inputs, _ = run(teacher, student, WORDS)
    real = inputs["padding_mask"].astype(bool)
    np.testing.assert_allclose(value, kl(theirs, ours, 2.0)[real].mean(), rtol=1e-4)


def test_starts_and_ends_are_distributions_over_tokens(make):
    teacher, student = (make(kerasbert.QuestionAnswerer, layers) for layers in (3, 2))
    value, theirs, ours, inputs, _ = run(teacher, student, QUESTIONS)
    values = []
    for row, length in enumerate(inputs["padding_mask"].sum(1)):
        for side in range(2):
            values.append(kl(theirs[row, :length, side], ours[row, :length, side], 2.0))
    np.testing.assert_allclose(value, np.mean(values), rtol=1e-4)


def test_choices_are_distributions_over_choices(make):
    teacher, student = (make(kerasbert.MultipleChoice, layers) for layers in (3, 2))
    value, theirs, ours, *_ = run(teacher, student, CHOICES)
    assert theirs.shape == (3, 2)
    np.testing.assert_allclose(value, kl(theirs, ours, 2.0).mean(), rtol=1e-4)


def test_states_of_choices_are_compared_as_those_of_texts_are(make):
    teacher, student = (make(kerasbert.MultipleChoice, layers) for layers in (4, 2))
    objectives = [HiddenStates(), FirstTokenStates(), AttentionScores(), Relations()]
    weights = np.array([1, 0, 2], "float32")
    values = Distiller(teacher, student, objectives).compute_objectives(
        CHOICES, sample_weight=weights
    )
    texts = np.repeat(CHOICES["text"], 2).tolist()
    pairs = {"text": texts, "text_pair": [choice for row in CHOICES["choices"] for choice in row]}
    as_texts = [
        kerasbert.TextClassifier(
            model.backbone,
            num_classes=2,
            preprocessor=kerasbert.TextClassifierPreprocessor(
                model.preprocessor.tokenizer, sequence_length=32
            ),
        )
        for model in (teacher, student)
    ]
    expected = Distiller(*as_texts, objectives).compute_objectives(
        pairs, sample_weight=np.repeat(weights, 2)
    )
    for name, value in expected.items():
        np.testing.assert_allclose(numpy(values[name]), numpy(value), rtol=1e-5, err_msg=name)


def test_masked_tokens_are_those_that_were_masked(make):
    teacher, student = (make(kerasbert.MaskedLM, layers) for layers in (3, 2))
    value, theirs, ours, _, labels = run(teacher, student, TEXTS)
    is_masked = labels["y"] != -100 if isinstance(labels, dict) else labels != -100
    assert 0 < is_masked.sum() < is_masked.size
    np.testing.assert_allclose(value, kl(theirs, ours, 2.0)[is_masked].mean(), rtol=1e-4)


def test_all_real_tokens_may_count(make):
    teacher, student = (make(kerasbert.MaskedLM, layers) for layers in (3, 2))
    value, _, _, inputs, _ = run(teacher, student, TEXTS, positions="all")
    inputs = {name: values for name, values in inputs.items() if name != "mask_positions"}
    theirs, ours = (np.asarray(numpy(model(inputs))) for model in (teacher, student))
    real = inputs["padding_mask"].astype(bool)
    np.testing.assert_allclose(value, kl(theirs, ours, 2.0)[real].mean(), rtol=1e-4)


def test_cross_entropy_differs_by_the_teachers_entropy(make):
    teacher, student = (make(kerasbert.MultipleChoice, layers) for layers in (3, 2))
    value, theirs, ours, *_ = run(teacher, student, CHOICES, loss="cross_entropy")
    p, q = (softmax(logits / 2) for logits in (theirs, ours))
    np.testing.assert_allclose(value, -4 * (p * np.log(q)).sum(-1).mean(), rtol=1e-4)


@pytest.mark.parametrize("positions", ["masked", "all"])
def test_masked_models_learn_from_texts_alone(make, positions):
    teacher, student = (make(kerasbert.MaskedLM, layers) for layers in (3, 2))
    distiller = Distiller(teacher, student, [SoftTargets(positions=positions)])
    distiller.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=1e-2))
    before = numpy(distiller.compute_objectives(TEXTS)["soft_targets"])
    history = distiller.fit(TEXTS, epochs=20, verbose=0).history
    assert numpy(distiller.compute_objectives(TEXTS)["soft_targets"]) < 0.7 * before
    sums = np.add(history["soft_targets"], history["label_loss"])
    np.testing.assert_allclose(history["loss"], sums, rtol=1e-4)


@pytest.mark.parametrize(
    ("cls", "x", "y", "options"),
    [
        (kerasbert.TokenClassifier, WORDS, TAGS, {"labels": ["O", "B-end"]}),
        (kerasbert.QuestionAnswerer, QUESTIONS, ANSWERS, {}),
        (kerasbert.MultipleChoice, CHOICES, [0, 1, 0], {}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_task_learns_from_labels_and_teacher(make, cls, x, y, options):
    teacher, student = (make(cls, layers, **options) for layers in (3, 2))
    distiller = Distiller(teacher, student, [SoftTargets()])
    distiller.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=1e-2))
    history = distiller.fit(x, y, epochs=4, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]
    sums = np.add(history["soft_targets"], history["label_loss"])
    np.testing.assert_allclose(history["loss"], sums, rtol=1e-4)


def test_temperature_and_weight_may_change_with_the_steps(make_classifier):
    teacher, student = make_classifier(num_layers=3), make_classifier()
    halved = keras.optimizers.schedules.PiecewiseConstantDecay([0, 1], [1.0, 0.5, 0.25])
    falling = keras.optimizers.schedules.PiecewiseConstantDecay([0], [3.0, 2.0])
    distiller = Distiller(
        teacher, student, [SoftTargets(temperature=falling, weight=halved)], label_weight=0
    )
    distiller.compile(optimizer=keras.optimizers.SGD(0.0))
    first = distiller.fit(TEXTS, batch_size=10, epochs=3, verbose=0).history
    fixed = {
        temperature: Distiller(teacher, student, [SoftTargets(temperature=temperature)])
        for temperature in (3.0, 2.0)
    }
    values = {
        t: float(numpy(d.compute_objectives(TEXTS)["soft_targets"])) for t, d in fixed.items()
    }
    np.testing.assert_allclose(
        first["soft_targets"], [values[3.0], values[2.0], values[2.0]], rtol=1e-4
    )
    np.testing.assert_allclose(
        first["loss"], [values[3.0], values[2.0] / 2, values[2.0] / 4], rtol=1e-4
    )
