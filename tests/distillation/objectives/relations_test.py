"""MiniLM's relations against the paper's formulas in plain NumPy."""

import numpy as np
import pytest

from kerasbert.distillation import Distiller
from kerasbert.distillation.objectives import Relations
from tests.distillation.conftest import TEXTS, numpy, softmax, traced


def relation(vectors, heads):
    """softmax(A Aᵀ / √d) of one text: (tokens, heads of the model, size) to (heads, T, T)."""
    length = len(vectors)
    cut = vectors.reshape(length, heads, -1).transpose(1, 0, 2)
    return softmax(cut @ cut.transpose(0, 2, 1) / np.sqrt(cut.shape[-1]))


def expected_value(teacher, student, name, heads, layers):
    inputs = student.preprocessor(TEXTS)
    theirs, ours = (
        traced(model, inputs, name)[layer]
        for model, layer in zip((teacher, student), layers, strict=True)
    )
    values = []
    for row, length in enumerate(inputs["padding_mask"].sum(1)):
        p, q = (relation(vectors[row, :length], heads) for vectors in (theirs, ours))
        values.append((p * np.log(p / q)).sum(-1).mean(0))
    return np.concatenate(values).mean()


@pytest.mark.parametrize("heads", [1, 8])
def test_relations_are_those_of_minilm_v2(make_classifier, heads):
    teacher = make_classifier(num_layers=3, hidden_dim=32, num_heads=4)
    student = make_classifier(hidden_dim=16, num_heads=2)
    objective = Relations(heads=heads, teacher_layer=2)
    value = Distiller(teacher, student, [objective]).compute_objectives(TEXTS)["relations"]
    expected = sum(
        expected_value(teacher, student, name, heads, (1, -1))
        for name in ("queries", "keys", "values")
    )
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-4)


def test_the_value_relation_of_minilm_v1_has_the_models_heads(make_classifier):
    teacher, student = make_classifier(num_layers=3, hidden_dim=32), make_classifier()
    objective = Relations(vectors="values")
    value = Distiller(teacher, student, [objective]).compute_objectives(TEXTS)["relations"]
    expected = expected_value(teacher, student, "values", 2, (-1, -1))
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-4)


def test_heads_must_divide_both_widths(make_classifier):
    teacher, student = make_classifier(hidden_dim=16), make_classifier(hidden_dim=12)
    with pytest.raises(ValueError, match=r"width of the student's attention, 12.*heads=8"):
        Distiller(teacher, student, [Relations(heads=8)])
    with pytest.raises(ValueError, match=r"student's layers .* to 2.*layer 3"):
        Distiller(teacher, student, [Relations(student_layer=3)])
    with pytest.raises(ValueError, match="'outputs'"):
        Relations(vectors=["outputs"])
