"""Training from kept outputs is training with the teacher."""

import json
import os
import shutil
import subprocess
import sys

import keras
import numpy as np
import pytest

import kerasbert
from kerasbert.distillation import Distiller, TeacherCache, make_student
from kerasbert.distillation.objectives import (
    AttentionScores,
    AttentionWeights,
    FirstTokenStates,
    HiddenStates,
    Relations,
    SoftTargets,
)
from tests.distillation.conftest import LABELS, TEXTS, numpy

ALL = (SoftTargets, HiddenStates, FirstTokenStates, AttentionScores, AttentionWeights, Relations)


@pytest.fixture
def make_task(make_classifier):
    def make(cls, num_layers=2, **kwargs):
        classifier = make_classifier(num_layers=num_layers)
        if cls is kerasbert.TextClassifier:
            return classifier
        windows = {"stride": 4} if cls is kerasbert.QuestionAnswerer else {}
        preprocessor = cls.preprocessor_cls(
            classifier.preprocessor.tokenizer, sequence_length=16, **windows
        )
        return cls(classifier.backbone, preprocessor=preprocessor, **kwargs)

    return make


def histories(teacher, student_of, objectives, x, y, cache=None, **kwargs):
    """What training gives, on a student that starts the same each time."""
    keras.utils.set_random_seed(1)
    student = student_of()
    distiller = Distiller(teacher, student, [each() for each in objectives], cache=cache)
    distiller.compile(optimizer=keras.optimizers.SGD(0.01))
    history = distiller.fit(x, y, epochs=2, batch_size=4, verbose=0, **kwargs).history
    return history, [numpy(variable) for variable in student.weights]


@pytest.mark.parametrize(
    ("cls", "options", "x"),
    [
        (kerasbert.TextClassifier, {}, TEXTS),
        (kerasbert.TokenClassifier, {"labels": ["O", "X"]}, [text.split() for text in TEXTS]),
        (kerasbert.QuestionAnswerer, {}, {"question": ["what", "who"] * 5, "context": TEXTS}),
        (kerasbert.MultipleChoice, {}, {"text": TEXTS, "choices": [["a song", "alarm"]] * 10}),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_training_is_the_same_as_with_the_teacher(make_task, tmp_path, cls, options, x):
    teacher = make_task(cls, num_layers=4, **options)

    def student_of():
        return make_student(teacher, layers=[0, 2])

    expected, weights = histories(teacher, student_of, ALL, x, None)
    for _ in ("written", "read"):
        found, ours = histories(teacher, student_of, ALL, x, None, TeacherCache(tmp_path))
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-6, err_msg=name)
        for our, their in zip(ours, weights, strict=True):
            np.testing.assert_allclose(our, their, rtol=1e-3, atol=1e-5)


def test_the_teacher_reads_each_text_once(make_classifier, tmp_path):
    teacher, student = make_classifier(num_layers=3), make_classifier()
    rows = []
    cache = TeacherCache(tmp_path)
    distiller = Distiller(teacher, student, [SoftTargets()], cache=cache)
    run = cache._run
    cache._run = lambda examples, indices: rows.extend(indices) or run(examples, indices)
    distiller.fit(TEXTS, LABELS, epochs=3, batch_size=4, verbose=0)
    assert sorted(rows) == [0, *range(10)]  # the first one also tells the outputs' shapes
    distiller.fit(TEXTS[::-1], LABELS[::-1], verbose=0)
    assert len(rows) == 11
    distiller.fit([*TEXTS, "a new text"], [*LABELS, "music"], verbose=0)
    assert rows[11:] == [10]


def test_half_precision_halves_the_files(make_classifier, tmp_path):
    teacher = make_classifier(num_layers=3)

    def student_of():
        return make_student(teacher, layers=[0, 2])

    sizes = {}
    for dtype in ("float32", "float16"):
        cache = TeacherCache(tmp_path / dtype, dtype=dtype)
        history, _ = histories(teacher, student_of, ALL, TEXTS, LABELS, cache)
        expected, _ = histories(teacher, student_of, ALL, TEXTS, LABELS)
        tolerance = 1e-4 if dtype == "float32" else 1e-2
        np.testing.assert_allclose(history["loss"], expected["loss"], rtol=tolerance)
        files = (tmp_path / dtype).glob("part-*/hidden_states-*.npy")
        sizes[dtype] = sum(os.path.getsize(file) - 128 for file in files)  # less NumPy's header
    assert sizes["float16"] * 2 == sizes["float32"] > 0


def test_the_folder_of_another_teacher_is_refused(make_classifier, tmp_path):
    student = make_classifier()
    Distiller(make_classifier(), student, [SoftTargets()], cache=TeacherCache(tmp_path)).fit(
        TEXTS, LABELS, verbose=0
    )
    files = sorted(path.name for path in tmp_path.rglob("*"))
    other = Distiller(make_classifier(), student, [SoftTargets()], cache=TeacherCache(tmp_path))
    with pytest.raises(ValueError, match=r"another teacher.*teacher differ"):
        other.fit(TEXTS, LABELS, verbose=0)
    assert sorted(path.name for path in tmp_path.rglob("*")) == files


def test_other_outputs_or_another_dtype_need_another_folder(make_classifier, tmp_path):
    teacher, student = make_classifier(num_layers=3), make_classifier()
    Distiller(teacher, student, [SoftTargets()], cache=TeacherCache(tmp_path)).fit(
        TEXTS, LABELS, verbose=0
    )
    more = Distiller(
        teacher, student, [SoftTargets(), HiddenStates()], cache=TeacherCache(tmp_path)
    )
    with pytest.raises(ValueError, match="outputs differ"):
        more.fit(TEXTS, LABELS, verbose=0)
    halved = Distiller(
        teacher, student, [SoftTargets()], cache=TeacherCache(tmp_path, dtype="float16")
    )
    with pytest.raises(ValueError, match="dtype differ"):
        halved.fit(TEXTS, LABELS, verbose=0)
    with pytest.raises(ValueError, match="'int8'"):
        TeacherCache(tmp_path, dtype="int8")


def test_a_truncated_part_is_an_error_that_names_it(make_classifier, tmp_path):
    teacher, student = make_classifier(num_layers=3), make_classifier()

    def distiller():
        return Distiller(teacher, student, [SoftTargets()], cache=TeacherCache(tmp_path))

    distiller().fit(TEXTS, LABELS, verbose=0)
    (logits,) = tmp_path.glob("part-*/logits.npy")
    logits.write_bytes(logits.read_bytes()[:-8])
    with pytest.raises(ValueError, match=r"cannot be read; delete it.*part-00000"):
        distiller().fit(TEXTS, LABELS, verbose=0)
    shutil.rmtree(logits.parent)
    distiller().fit(TEXTS, LABELS, verbose=0)  # computed again


def test_a_teacher_that_gives_nan_is_refused_before_anything_is_written(make_classifier, tmp_path):
    teacher, student = make_classifier(num_layers=3), make_classifier()
    teacher.weights[0].assign(numpy(teacher.weights[0]) * np.nan)
    distiller = Distiller(teacher, student, [SoftTargets()], cache=TeacherCache(tmp_path / "new"))
    with pytest.raises(ValueError, match=r"NaN or infinite numbers.*its logits"):
        distiller.fit(TEXTS, LABELS, verbose=0)
    assert not (tmp_path / "new").exists()


def test_masked_models_are_refused(make_task, tmp_path):
    teacher, student = make_task(kerasbert.MaskedLM, 3), make_task(kerasbert.MaskedLM)
    with pytest.raises(ValueError, match="masked anew in every epoch"):
        Distiller(teacher, student, [SoftTargets()], cache=TeacherCache(tmp_path))


SCRIPT = """
import json, sys
import kerasbert
from kerasbert.distillation import Distiller, TeacherCache, make_student
from kerasbert.distillation.objectives import HiddenStates, SoftTargets
teacher = kerasbert.TextClassifier.from_preset(sys.argv[1])
student = make_student(teacher, layers=[0, 2])
cache = TeacherCache(sys.argv[2])
distiller = Distiller(teacher, student, [SoftTargets(), HiddenStates()], cache=cache)
history = distiller.fit(json.loads(sys.argv[3]), epochs=1, verbose=0).history
print(json.dumps(history["loss"]))
"""


def test_other_backends_read_it(make_classifier, tmp_path):
    teacher = make_classifier(num_layers=4)
    teacher.save_to_preset(tmp_path / "teacher")
    student = make_student(teacher, layers=[0, 2])
    distiller = Distiller(
        teacher, student, [SoftTargets(), HiddenStates()], cache=TeacherCache(tmp_path / "cache")
    )
    loss = distiller.fit(TEXTS, epochs=1, verbose=0).history["loss"]
    parts = sorted((tmp_path / "cache").iterdir())
    other = "jax" if keras.backend.backend() != "jax" else "torch"
    found = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "teacher", tmp_path / "cache", json.dumps(TEXTS)],
        env={**os.environ, "KERAS_BACKEND": other},
        capture_output=True,
        text=True,
        check=True,
    )
    np.testing.assert_allclose(json.loads(found.stdout.splitlines()[-1]), loss, rtol=1e-4)
    assert sorted((tmp_path / "cache").iterdir()) == parts
