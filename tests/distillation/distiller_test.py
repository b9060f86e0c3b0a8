import keras
import numpy as np
import pytest

import kerasbert
from kerasbert.distillation import Distiller, TeacherCache, make_student
from kerasbert.distillation.objectives import FirstTokenStates, HiddenStates, SoftTargets
from tests.distillation.conftest import LABELS, TEXTS, numpy, softmax


def fast():
    return kerasbert.tuning.optimizer(learning_rate=1e-2, warmup=0)


@pytest.fixture
def pair(make_classifier):
    return make_classifier(num_layers=3), make_classifier(num_layers=2, hidden_dim=8)


def test_each_objective_is_a_metric_and_the_loss_is_their_weighted_sum(pair):
    teacher, student = pair
    distiller = Distiller(
        teacher, student, [SoftTargets(weight=0.5), HiddenStates(weight=2.0)], label_weight=3.0
    )
    distiller.compile(optimizer=keras.optimizers.SGD(0.0))
    values = distiller.compute_objectives(TEXTS)
    history = distiller.fit(TEXTS, LABELS, batch_size=10, epochs=1, verbose=0).history
    label_loss = student.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)["loss"]
    assert set(history) == {"loss", "accuracy", "label_loss", "soft_targets", "hidden_states"}
    for name, value in values.items():
        np.testing.assert_allclose(history[name][0], float(numpy(value)), rtol=1e-4)
    np.testing.assert_allclose(history["label_loss"][0], label_loss, rtol=1e-4)
    total = (
        0.5 * history["soft_targets"][0]
        + 2.0 * history["hidden_states"][0]
        + 3.0 * history["label_loss"][0]
    )
    np.testing.assert_allclose(history["loss"][0], total, rtol=1e-4)


def test_training_brings_the_student_to_its_teacher_and_leaves_the_teacher(pair):
    teacher, student = pair
    before = [np.array(weight) for weight in teacher.get_weights()]
    distiller = Distiller(teacher, student, [SoftTargets(), HiddenStates()], label_weight=0.0)
    distiller.compile(optimizer=fast())
    projection = np.array(numpy(distiller.projections[0].kernel))
    first = distiller.compute_objectives(TEXTS)
    distiller.fit(TEXTS, epochs=20, batch_size=4, verbose=0)
    last = distiller.compute_objectives(TEXTS)
    for name in first:
        assert float(numpy(last[name])) < 0.7 * float(numpy(first[name]))
    assert (numpy(distiller.projections[0].kernel) != projection).any()
    for weight, after in zip(before, teacher.get_weights(), strict=True):
        np.testing.assert_array_equal(weight, after)
    assert all(layer.trainable for layer in teacher._flatten_layers())


def test_only_the_student_and_its_projections_are_trained_and_saved(pair, tmp_path):
    teacher, student = pair
    distiller = Distiller(teacher, student, [HiddenStates()])
    trained = {id(variable) for variable in distiller.trainable_variables}
    owned = [*student.trainable_variables, *distiller.projections[0].trainable_variables]
    assert trained == {id(variable) for variable in owned}
    alone = tmp_path / "student.weights.h5"
    student.save_weights(alone)
    whole = tmp_path / "distiller.weights.h5"
    distiller.save_weights(whole)
    projection = 4 * sum(int(np.prod(v.shape)) for v in distiller.projections[0].weights)
    teacher_bytes = 4 * teacher.count_params()
    assert whole.stat().st_size < alone.stat().st_size + projection + teacher_bytes / 2


def test_evaluate_and_predict_are_the_students(pair):
    teacher, student = pair
    distiller = Distiller(teacher, student, [SoftTargets()])
    distiller.compile(optimizer=fast())
    history = distiller.fit(
        TEXTS, LABELS, epochs=1, verbose=0, validation_data=(TEXTS, LABELS)
    ).history
    assert {"val_loss", "val_accuracy"} <= set(history)
    assert "val_soft_targets" not in history
    logits = student.predict(TEXTS, verbose=0)
    np.testing.assert_array_equal(distiller.predict(TEXTS, verbose=0), logits)
    results = distiller.evaluate(TEXTS, LABELS, verbose=0, return_dict=True)
    targets = student.encode_targets(LABELS)
    log_q = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    np.testing.assert_allclose(
        results["loss"], -log_q[np.arange(len(targets)), targets].mean(), rtol=1e-4
    )
    np.testing.assert_allclose(history["val_loss"][0], results["loss"], rtol=1e-4)


def test_labels_can_be_left_out(pair):
    teacher, student = pair
    distiller = Distiller(teacher, student, [SoftTargets()])
    distiller.compile(optimizer=fast())
    history = distiller.fit(TEXTS, epochs=1, verbose=0).history
    assert set(history) == {"loss", "soft_targets"}


def test_rows_that_fill_a_batch_do_not_count_without_labels(make_classifier):
    teacher, student = make_classifier(num_layers=3), make_classifier()
    distiller = Distiller(teacher, student, [SoftTargets()])
    distiller.compile(optimizer=keras.optimizers.SGD(0.0))
    found = distiller.fit(TEXTS[:3], batch_size=8, verbose=0).history["soft_targets"]
    expected = distiller.compute_objectives(TEXTS[:3])["soft_targets"]
    np.testing.assert_allclose(found, [numpy(expected)], rtol=1e-4)


def test_a_teacher_with_segments_teaches_a_student_without(make_classifier):
    teacher = make_classifier()
    student = make_classifier(config=kerasbert.EncoderConfig(num_segments=0, pooler=None))
    distiller = Distiller(teacher, student, [SoftTargets(), HiddenStates()])
    distiller.compile(optimizer=fast())
    history = distiller.fit(TEXTS, LABELS, epochs=1, verbose=0).history
    assert np.isfinite(history["loss"][0])


def test_sample_weights_of_zero_keep_examples_out_of_training(make_classifier):
    teacher = make_classifier()
    weights = np.array([1.0] * 5 + [0.0] * 5)
    results = []
    for labels in (LABELS, LABELS[:5] + ["music"] * 5):
        keras.utils.set_random_seed(3)
        student = make_student(teacher, layers=[1])
        distiller = Distiller(teacher, student, [SoftTargets()])
        distiller.compile(optimizer=fast())
        distiller.fit(TEXTS, labels, sample_weight=weights, batch_size=10, epochs=2, verbose=0)
        results.append(student.predict(TEXTS, verbose=0))
    np.testing.assert_allclose(results[0], results[1], atol=1e-5)


def test_refuses_what_cannot_work(make_classifier):
    teacher, student = make_classifier(), make_classifier()
    with pytest.raises(ValueError, match="at least one objective"):
        Distiller(teacher, student, [])
    with pytest.raises(ValueError, match="distinct names"):
        Distiller(teacher, student, [SoftTargets(), SoftTargets()])
    with pytest.raises(ValueError, match="share"):
        Distiller(teacher, teacher, [SoftTargets()])
    with pytest.raises(ValueError, match="same labels"):
        Distiller(teacher, make_classifier(labels=("music", "alarm")), [SoftTargets()])
    with pytest.raises(ValueError, match="same classes"):
        Distiller(teacher, make_classifier(labels=("a", "b", "c")), [SoftTargets()])
    with pytest.raises(ValueError, match="student must be a kerasbert task"):
        Distiller(teacher, student.backbone, [SoftTargets()])
    with pytest.raises(ValueError, match="label_weight"):
        Distiller(teacher, student, [SoftTargets()], label_weight=-1)


def test_several_teachers_teach_by_their_weights(make_classifier):
    teachers = [make_classifier(num_layers=3), make_classifier(num_layers=4)]
    student = make_classifier(hidden_dim=8)
    objectives = [SoftTargets(), FirstTokenStates()]
    each = [
        Distiller(teacher, student, [SoftTargets()]).compute_objectives(TEXTS)["soft_targets"]
        for teacher in teachers
    ]
    distiller = Distiller(teachers, student, objectives, teacher_weights=[3, 1])
    assert len(distiller.projections) == 2
    value = distiller.compute_objectives(TEXTS)["soft_targets"]
    expected = 0.75 * numpy(each[0]) + 0.25 * numpy(each[1])
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-5)
    history = distiller.fit(TEXTS, LABELS, epochs=1, verbose=0).history
    assert {"soft_targets", "first_token_states", "label_loss"} <= set(history)


def test_a_confident_teacher_counts_more(make_classifier):
    teachers = [make_classifier(num_layers=3), make_classifier(num_layers=4)]
    student = make_classifier()
    weights = np.arange(10).astype("float32")
    distiller = Distiller(teachers, student, [SoftTargets(1.0)], teacher_weights="confidence")
    value = distiller.compute_objectives(TEXTS, sample_weight=weights)["soft_targets"]
    probabilities = [softmax(model.predict(TEXTS, verbose=0)) for model in teachers]
    q = softmax(student.predict(TEXTS, verbose=0))
    confidences = np.array([p.max(-1) for p in probabilities])
    confidences /= confidences.sum(0)
    kl = np.array([(p * np.log(p / q)).sum(-1) for p in probabilities])
    expected = np.average((confidences * kl).sum(0), weights=weights)
    np.testing.assert_allclose(numpy(value), expected, rtol=1e-4)


def test_senseless_weights_of_teachers_are_refused(make_classifier):
    teachers = [make_classifier(), make_classifier()]
    for weights in ([1], [0, 0], [1, -1], "trust"):
        with pytest.raises(ValueError, match="each of the 2 teachers"):
            Distiller(teachers, make_classifier(), [SoftTargets()], teacher_weights=weights)
    with pytest.raises(ValueError, match="2 teachers, 1 caches"):
        Distiller(teachers, make_classifier(), [SoftTargets()], cache=[TeacherCache("nowhere")])


def test_a_teacher_with_another_vocabulary_reads_the_texts_itself(make_classifier, tmp_path):
    student = make_classifier()
    tokenizer = kerasbert.Tokenizer.train(TEXTS[::-1] * 2, vocabulary_size=60)
    config = student.backbone.config.replace(vocabulary_size=tokenizer.vocabulary_size())
    teacher = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        labels=["alarm", "music"],
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer, sequence_length=32),
    )
    objectives = [SoftTargets(1.0), FirstTokenStates({1: 1})]
    distiller = Distiller(teacher, student, objectives)
    value = distiller.compute_objectives(TEXTS)["soft_targets"]
    p, q = (softmax(model.predict(TEXTS, verbose=0)) for model in (teacher, student))
    np.testing.assert_allclose(numpy(value), (p * np.log(p / q)).sum(-1).mean(), rtol=1e-4)
    expected = distiller.fit(TEXTS, LABELS, epochs=1, verbose=0).history
    assert np.isfinite(expected["loss"][0])
    kept = Distiller(teacher, student, [SoftTargets()], cache=TeacherCache(tmp_path))
    kept.fit(TEXTS, LABELS, epochs=1, verbose=0)

    with pytest.raises(ValueError, match="Give texts, not arrays"):
        distiller.compute_objectives(student.preprocessor(TEXTS))
    with pytest.raises(ValueError, match=r"different vocabularies.*Received: hidden_states"):
        Distiller(teacher, student, [SoftTargets(), HiddenStates()])
