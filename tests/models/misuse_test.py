"""Plausible mistakes end in one clear error, and leave a model that can be used."""

import keras
import numpy as np
import pytest

import kerasbert
from kerasbert.distillation import Distiller, make_student
from kerasbert.distillation.objectives import SoftTargets

TEXTS = ["wake me at seven", "play some jazz", "alarm for noon", "put on a song"]
LABELS = ["alarm", "music"] * 2
CONFIG = kerasbert.EncoderConfig(
    num_layers=2, num_heads=2, hidden_dim=16, intermediate_dim=32, max_sequence_length=64
)


@pytest.fixture
def classifier():
    tokenizer = kerasbert.Tokenizer.train(TEXTS, vocabulary_size=80)
    return kerasbert.TextClassifier(
        kerasbert.Encoder(CONFIG.replace(vocabulary_size=tokenizer.vocabulary_size())),
        labels=["alarm", "music"],
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer, sequence_length=64),
    )


@pytest.mark.parametrize(
    ("mistake", "message"),
    [
        (lambda m: kerasbert.Encoder("bert"), "from_preset"),
        (lambda m: kerasbert.Encoder(CONFIG, family="brt"), "Supported are"),
        (lambda m: kerasbert.Encoder(CONFIG, foo=1), "foo"),
        (lambda m: kerasbert.TextClassifier("bert", num_classes=2), "kerasbert.Encoder"),
        (lambda m: kerasbert.TextClassifier(m.backbone, num_classes=2, poolng="mean"), "poolng"),
        (
            lambda m: kerasbert.TextClassifier(
                m.backbone, num_classes=2, preprocessor=m.preprocessor.tokenizer
            ),
            "TextClassifierPreprocessor",
        ),
        (lambda m: kerasbert.TextClassifier(m.backbone, labels="ab"), "list of names"),
        (lambda m: kerasbert.TextClassifier(m.backbone, labels={"a", "b"}), "list of names"),
        (lambda m: m.fit({"texts": TEXTS}, LABELS), "text_pair"),
        (lambda m: m.classify([None]), "takes texts"),
        (lambda m: make_student(m, [0]), "layers="),
        (lambda m: make_student("bert", num_layers=1), "teacher"),
        (lambda m: Distiller(m, make_student(m, num_layers=1), SoftTargets()), "must be a list"),
        (lambda m: Distiller(m, make_student(m, num_layers=1), [SoftTargets]), "must be a list"),
    ],
)
def test_a_wrong_argument_is_named(classifier, mistake, message):
    with pytest.raises((TypeError, ValueError), match=message):
        mistake(classifier)


def test_zeros_and_ones_in_lists_for_two_classes_are_refused_as_ambiguous(classifier):
    model = kerasbert.TextClassifier(classifier.backbone, labels=["a", "b"], multi_label=True)
    with pytest.raises(ValueError, match="zeros and ones"):
        model.encode_targets([[0, 1], [1, 0]])
    np.testing.assert_array_equal(
        model.encode_targets(np.array([[0, 1], [1, 0]])), [[0, 1], [1, 0]]
    )


def test_numpys_numbers_and_strings_are_as_good_as_pythons(classifier):
    assert kerasbert.TextClassifier(classifier.backbone, num_classes=np.int64(3)).num_classes == 3
    model = kerasbert.TextClassifier(classifier.backbone, labels=np.array(["a", "b"]))
    assert [type(label) for label in model.labels] == [str, str]


def test_a_token_added_after_the_encoder_was_sized_is_refused(classifier):
    classifier.preprocessor.tokenizer.add_tokens(["xylophone"])
    with pytest.raises(ValueError, match="more tokens than the encoder"):
        classifier.classify(["a xylophone"])


def test_a_model_trains_on_after_it_was_stopped_for_nan(classifier):
    weights = np.array([1, 0, 1, float("nan")])
    with pytest.raises(FloatingPointError):
        classifier.fit(TEXTS, LABELS, sample_weight=weights, verbose=0)
    history = classifier.fit(TEXTS, LABELS, verbose=0).history
    assert np.isfinite(history["loss"]).all()


def test_a_preprocessor_is_read_from_a_preset_with_its_settings(classifier, tmp_path):
    classifier.save_to_preset(tmp_path / "preset")
    preprocessor = kerasbert.TextClassifierPreprocessor.from_preset(tmp_path / "preset")
    assert preprocessor.sequence_length == 64
    np.testing.assert_array_equal(
        preprocessor(TEXTS)["token_ids"], classifier.preprocessor(TEXTS)["token_ids"]
    )


def test_a_distiller_compiles_itself_and_checkpoints_its_student(classifier, tmp_path):
    student = make_student(classifier, num_layers=1)
    distiller = Distiller(classifier, student, [SoftTargets()])
    checkpoint = keras.callbacks.ModelCheckpoint(tmp_path / "student.keras")
    distiller.fit(TEXTS, LABELS, 2, verbose=0, callbacks=[checkpoint])
    loaded = keras.saving.load_model(tmp_path / "student.keras")
    np.testing.assert_allclose(
        loaded.predict(TEXTS, verbose=0), student.predict(TEXTS, verbose=0), atol=1e-5
    )


def test_an_architecture_without_weights_loads_without_a_warning(classifier, tmp_path, recwarn):
    classifier.save_to_preset(tmp_path / "preset")
    kerasbert.TextClassifier.from_preset(tmp_path / "preset", load_weights=False)
    assert not [w for w in recwarn if "saved head" in str(w.message)]
