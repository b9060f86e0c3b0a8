"""What one backend saves, the others read in a fresh process; and nothing needs TensorFlow."""

import json

import keras
import numpy as np
import pytest

from kerasbert import Encoder, TextClassifier, tuning

PREDICT = """
    import json
    import keras
    import numpy as np
    import kerasbert

    texts = json.loads(open("texts.json").read())
    models = {
        "preset": kerasbert.TextClassifier.from_preset("preset"),
        "keras": keras.saving.load_model("model.keras"),
    }
    logits = {name: model.predict(texts, verbose=0) for name, model in models.items()}
    np.savez("logits.npz", **logits)
    for name, model in models.items():
        assert isinstance(model, kerasbert.TextClassifier), name
        assert model.labels == ["alarm", "music"], name
    compiled = models["keras"]
    assert isinstance(compiled.optimizer, kerasbert.tuning.AdamW)
    assert int(compiled.optimizer.iterations) == 4
    # What "auto" comes to is each backend's own affair: on torch it is not to compile.
    assert compiled.jit_compile == (keras.backend.backend() == "jax")
    assert abs(compiled.optimizer.weight_decay - 0.3) < 1e-6
"""


@pytest.fixture(scope="module")
def trained(config, preprocessor, texts, labels):
    model = TextClassifier(Encoder(config), labels=["alarm", "music"], preprocessor=preprocessor)
    model.compile(optimizer=tuning.optimizer(learning_rate=0.01, weight_decay=0.3))
    model.fit(texts, labels, batch_size=4, epochs=2, verbose=0)
    return model


def test_folders_and_archives_of_a_classifier_serve_all_backends(
    trained, texts, run_fresh, other_backends, tmp_path
):
    trained.save_to_preset(tmp_path / "preset")
    trained.save(tmp_path / "model.keras")
    (tmp_path / "texts.json").write_text(json.dumps(texts))
    expected = trained.predict(texts, verbose=0)
    for backend in other_backends:
        run_fresh(PREDICT, backend, tmp_path)
        found = np.load(tmp_path / "logits.npz")
        np.testing.assert_allclose(found["preset"], expected, atol=1e-5)
        np.testing.assert_allclose(found["keras"], expected, atol=1e-5)


@pytest.mark.parametrize("weighted", [None, ["accuracy"]])
def test_an_archive_keeps_how_a_model_was_compiled(
    config, preprocessor, texts, labels, tmp_path, weighted
):
    model = TextClassifier(Encoder(config), labels=["alarm", "music"], preprocessor=preprocessor)
    model.compile(
        optimizer=keras.optimizers.SGD(0.25),
        metrics=["sparse_categorical_crossentropy"],
        weighted_metrics=weighted,
    )
    before = model.evaluate(texts, labels, batch_size=4, verbose=0, return_dict=True)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    after = again.evaluate(texts, labels, batch_size=4, verbose=0, return_dict=True)
    assert after == pytest.approx(before, rel=1e-5)
    assert isinstance(again.optimizer, keras.optimizers.SGD)
    assert float(keras.ops.convert_to_numpy(again.optimizer.learning_rate)) == 0.25


@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "mixed_float16", "bfloat16"])
def test_the_dtype_of_a_task_is_kept_in_folders_and_archives(
    config, preprocessor, texts, dtype, tmp_path
):
    model = TextClassifier(
        Encoder(config, dtype=dtype), num_classes=2, preprocessor=preprocessor, pooling="mean"
    )
    model.save_to_preset(tmp_path / "preset")
    model.save(tmp_path / "model.keras")
    expected = model.predict(texts, verbose=0)
    for again in (
        TextClassifier.from_preset(tmp_path / "preset"),
        keras.saving.load_model(tmp_path / "model.keras"),
    ):
        assert again.backbone.dtype_policy.name == dtype
        np.testing.assert_allclose(again.predict(texts, verbose=0), expected, atol=1e-2)
    plain = TextClassifier.from_preset(tmp_path / "preset", dtype="float32")
    assert {variable.dtype for variable in plain.weights} == {"float32"}
    np.testing.assert_allclose(plain.predict(texts, verbose=0), expected, atol=0.1)


WITHOUT_TENSORFLOW = """
    import sys

    sys.modules["tensorflow"] = None
    sys.modules["tensorflow_text"] = None
    import numpy as np
    import kerasbert

    texts = ["wake me at seven", "play some jazz", "an alarm for noon", "put on a song"]
    labels = ["alarm", "music", "alarm", "music"]
    tokenizer = kerasbert.Tokenizer.train(texts, vocabulary_size=60)
    assert tokenizer.encode("wake me").tokens[0] == "[CLS]"
    config = kerasbert.EncoderConfig(
        vocabulary_size=60, num_layers=1, num_heads=2, hidden_dim=8, intermediate_dim=12
    )
    model = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        labels=["alarm", "music"],
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer),
    )
    history = model.fit(
        texts, labels, batch_size=3, epochs=2, validation_data=(texts, labels), verbose=0
    )
    assert np.isfinite(history.history["val_loss"]).all()
    assert model.predict(texts, verbose=0).shape == (4, 2)
    answers = model.classify(texts)
    model.save_to_preset("preset")
    again = kerasbert.TextClassifier.from_preset("preset")
    assert again.classify(texts)[0][0]["label"] == answers[0][0]["label"]
    loaded = sorted(name for name in sys.modules if name.split(".")[0].startswith("tensorflow"))
    assert loaded == ["tensorflow", "tensorflow_text"], loaded
    print("done")
"""


@pytest.mark.skipif(
    keras.backend.backend() == "tensorflow", reason="TensorFlow itself needs TensorFlow"
)
def test_tokenizing_fitting_and_predicting_need_no_tensorflow(run_fresh, tmp_path):
    assert "done" in run_fresh(WITHOUT_TENSORFLOW, keras.backend.backend(), tmp_path)
