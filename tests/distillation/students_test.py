import numpy as np
import pytest

import kerasbert
from kerasbert.distillation import make_student
from kerasbert.distillation.students import evenly_spaced
from tests.distillation.conftest import TEXTS, numpy


def test_six_of_twelve_layers_are_distilberts_choice():
    # huggingface/transformers-research-projects, distillation: teacher layers of DistilBERT.
    assert evenly_spaced(6, 12) == [0, 2, 4, 7, 9, 11]
    assert evenly_spaced(3, 6) == [0, 2, 5]
    assert evenly_spaced(1, 6) == [0]


def test_a_student_has_the_chosen_layers_of_its_teacher(make_classifier):
    teacher = make_classifier(num_layers=4)
    student = make_student(teacher, layers=[1, 3])
    ours = {variable.path: numpy(variable.value) for variable in student.weights}
    theirs = {variable.path: numpy(variable.value) for variable in teacher.weights}
    for path, value in ours.items():
        source = path.replace("layer_1/", "layer_3/").replace("layer_0/", "layer_1/")
        np.testing.assert_array_equal(value, theirs[source])
    assert student.labels == teacher.labels
    assert student.backbone.config == teacher.backbone.config.replace(num_layers=2)


def test_a_student_with_all_layers_predicts_as_its_teacher(make_classifier):
    teacher = make_classifier(num_layers=3, pooling="mean")
    student = make_student(teacher, num_layers=3)
    inputs = teacher.preprocessor(TEXTS)
    np.testing.assert_array_equal(numpy(student(inputs)), numpy(teacher(inputs)))


def test_no_variable_is_shared_and_training_the_student_leaves_the_teacher(make_classifier):
    teacher = make_classifier(num_layers=2)
    before = [np.array(weight) for weight in teacher.get_weights()]
    student = make_student(teacher, num_layers=2)
    student.compile(optimizer=kerasbert.tuning.optimizer(learning_rate=0.1, warmup=0))
    student.fit(TEXTS, ["alarm", "music"] * 5, epochs=1, verbose=0)
    assert not {id(v) for v in teacher.weights} & {id(v) for v in student.weights}
    for weight, after in zip(before, teacher.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, after)
    moved = zip(student.get_weights(), teacher.get_weights(), strict=True)
    assert any((ours != theirs).any() for ours, theirs in moved)


def test_shared_layers_are_applied_fewer_times(make_classifier):
    config = kerasbert.EncoderConfig(sharing=kerasbert.Sharing(), embedding_dim=8)
    teacher = make_classifier(num_layers=4, config=config)
    student = make_student(teacher, num_layers=2)
    assert student.count_params() == teacher.count_params()
    assert student.backbone.config.num_layers == 2


def test_a_configuration_of_another_width_starts_anew(make_classifier):
    teacher = make_classifier()
    config = teacher.backbone.config.replace(hidden_dim=8)
    student = make_student(teacher, config)
    assert student.backbone.config == config
    assert student.labels == teacher.labels
    assert np.isfinite(numpy(student(student.preprocessor(TEXTS)))).all()


def test_a_configuration_of_another_depth_takes_the_weights(make_classifier):
    teacher = make_classifier(num_layers=4)
    by_config = make_student(teacher, teacher.backbone.config.replace(num_layers=2))
    by_number = make_student(teacher, num_layers=2)
    for ours, theirs in zip(by_config.get_weights(), by_number.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_encoders_have_students_too(make_classifier):
    encoder = make_classifier(num_layers=3).backbone
    student = make_student(encoder, layers=[0, 2])
    assert isinstance(student, kerasbert.Encoder)
    assert student.config.num_layers == 2


@pytest.mark.parametrize(
    "arguments",
    [
        {"layers": []},
        {"layers": [0, 2]},
        {"layers": [1, 0]},
        {"layers": [0, 0]},
        {"layers": [-1]},
        {"num_layers": 3},
        {"num_layers": 0},
        {},
        {"layers": [0], "num_layers": 1},
    ],
)
def test_layers_that_make_no_student_are_refused(make_classifier, arguments):
    with pytest.raises(ValueError, match="Received"):
        make_student(make_classifier(num_layers=2), **arguments)
