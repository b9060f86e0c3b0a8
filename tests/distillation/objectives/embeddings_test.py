"""Objectives on embeddings, by hand."""

import numpy as np
import pytest

import kerasbert
from kerasbert.distillation import Distiller
from kerasbert.distillation.objectives import Embeddings, SoftTargets
from tests.distillation.conftest import TEXTS, numpy

WEIGHTS = np.array([1, 2, 0, 1, 1, 3, 1, 1, 0, 1], "float32")


@pytest.fixture
def make_embedder(make_classifier):
    def make(**kwargs):
        classifier = make_classifier(**kwargs)
        preprocessor = kerasbert.TextEmbedderPreprocessor(
            classifier.preprocessor.tokenizer, sequence_length=32
        )
        return kerasbert.TextEmbedder(classifier.backbone, preprocessor)

    return make


def value_of(objective, teacher, student, **kwargs):
    distiller = Distiller(teacher, student, [objective], label_weight=0)
    return numpy(distiller.compute_objectives(TEXTS, **kwargs)["embeddings"])


def unit(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def test_embeddings_are_compared_by_squared_error_or_by_cosine(make_embedder):
    teacher, student = make_embedder(num_layers=3), make_embedder()
    theirs, ours = (model.predict(TEXTS, verbose=0) for model in (teacher, student))
    expected = np.average(((theirs - ours) ** 2).mean(-1), weights=WEIGHTS)
    value = value_of(Embeddings(), teacher, student, sample_weight=WEIGHTS)
    np.testing.assert_allclose(value, expected, rtol=1e-4)
    expected = 1 - (unit(theirs) * unit(ours)).sum(-1).mean()
    value = value_of(Embeddings("cosine"), teacher, student)
    np.testing.assert_allclose(value, expected, rtol=1e-4)


def test_similarities_are_compared_over_pairs_of_different_texts(make_embedder):
    teacher, student = make_embedder(), make_embedder(hidden_dim=8)
    theirs, ours = (unit(model.predict(TEXTS, verbose=0)) for model in (teacher, student))
    errors = (theirs @ theirs.T - ours @ ours.T) ** 2
    pairs = [(i, j) for i in range(len(TEXTS)) for j in range(len(TEXTS)) if i != j]
    weights = [WEIGHTS[i] * WEIGHTS[j] for i, j in pairs]
    expected = np.average([errors[pair] for pair in pairs], weights=weights)
    value = value_of(Embeddings("similarities"), teacher, student, sample_weight=WEIGHTS)
    np.testing.assert_allclose(value, expected, rtol=1e-3)


def test_other_widths_are_projected(make_embedder):
    teacher, student = make_embedder(), make_embedder(hidden_dim=8)
    objective = Embeddings()
    value = value_of(objective, teacher, student)
    theirs, ours = (model.predict(TEXTS, verbose=0) for model in (teacher, student))
    (projection,) = objective.layers
    projected = ours @ numpy(projection.kernel) + numpy(projection.bias)
    np.testing.assert_allclose(value, ((theirs - projected) ** 2).mean(), rtol=1e-4)


def test_embedders_learn_from_texts_alone(make_embedder):
    teacher, student = make_embedder(), make_embedder()
    distiller = Distiller(teacher, student, [Embeddings()], label_weight=0)
    distiller.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=1e-2))
    losses = distiller.fit(TEXTS, epochs=4, verbose=0).history["embeddings"]
    assert losses[-1] < 0.7 * losses[0]


def test_embeddings_are_no_soft_targets(make_embedder):
    with pytest.raises(ValueError, match="Use `Embeddings"):
        Distiller(make_embedder(), make_embedder(), [SoftTargets()])
    with pytest.raises(ValueError, match="'dot'"):
        Embeddings("dot")
