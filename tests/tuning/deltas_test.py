"""Deltas: small files that give the same logits on a fresh base, and refuse any other."""

import json

import keras
import numpy as np
import pytest
from safetensors.numpy import load_file

from kerasbert import (
    Encoder,
    EncoderConfig,
    QuestionAnswerer,
    TextClassifier,
    TokenClassifier,
    tuning,
)
from kerasbert.checkpoints.weight_files import write_safetensors
from tests.models import tiny_families
from tests.tuning.tuned_models import (
    BATCH,
    LABELS,
    METHODS,
    STILL,
    classifier,
    disturb,
    logits_of,
    values_of,
)


@pytest.fixture
def preset(tmp_path):
    """The base that deltas are made of and loaded on."""
    tiny_families.encoder_of("bert", **STILL).save_to_preset(tmp_path / "base")
    return tmp_path / "base"


def base(preset, **arguments):
    return TextClassifier.from_preset(preset, **{"labels": ["a", "b", "c"], **arguments})


@pytest.mark.parametrize("method", [*METHODS, "bitfit"])
def test_a_fresh_base_with_the_delta_gives_the_same_logits(method, preset, tmp_path):
    model = base(preset)
    {**METHODS, "bitfit": tuning.bitfit}[method](model)
    model.fit(BATCH, LABELS, verbose=0)
    disturb(model)
    tuning.save_delta(model, tmp_path / "delta.safetensors")
    again = base(preset)
    assert tuning.load_delta(again, tmp_path / "delta.safetensors") is again
    np.testing.assert_array_equal(logits_of(again), logits_of(model))
    np.testing.assert_allclose(again.predict(BATCH, verbose=0), logits_of(model), atol=1e-5)
    assert again.backbone.additions == model.backbone.additions


def test_it_holds_what_was_trained_and_the_head_and_nothing_else(preset, tmp_path):
    """Heads were left out elsewhere: peft 310 and 1070, sentence-transformers 3980."""
    model = disturb(METHODS["lora"](base(preset)))
    model.head.trainable = False  # it is new, whether it trains or not
    tuning.save_delta(model, tmp_path / "delta.safetensors")
    stored = load_file(tmp_path / "delta.safetensors")
    values = values_of(model)
    expected = {path for path in values if "lora_" in path or path.startswith("head/")}
    assert stored.keys() == expected
    for path, value in stored.items():
        np.testing.assert_array_equal(value, values[path])


@pytest.mark.parametrize("method", [*METHODS, "bitfit"])
def test_it_is_small(method, tmp_path):
    """Below 3 % of the model, here one of the proportions of MiniLM (6 layers of 384)."""
    config = EncoderConfig(
        vocabulary_size=6000, num_layers=3, num_heads=12, hidden_dim=384, intermediate_dim=1536
    )
    model = TextClassifier(Encoder(config), num_classes=3)
    methods = {
        "lora": tuning.lora,
        "adapters": lambda model: tuning.adapters(model, dim=32),
        "prompts": tuning.prompts,
        "prefixes": tuning.prefixes,
        "bitfit": tuning.bitfit,
    }
    methods[method](model)
    tuning.save_delta(model, tmp_path / "delta.safetensors")
    model.save_weights(tmp_path / "whole.weights.h5")
    delta, whole = (
        (tmp_path / name).stat().st_size for name in ("delta.safetensors", "whole.weights.h5")
    )
    assert delta < 0.03 * whole


def test_bert_base_with_adapters_of_64_stays_below_three_percent():
    """By arithmetic: 2md + d + m for each adapter (Houlsby et al., 2019, section 2.1)."""
    config = EncoderConfig()
    width, layers = config.hidden_dim, config.num_layers
    adapters = 2 * layers * (2 * width * 64 + width + 64)
    norms = (1 + 2 * layers) * 2 * width
    assert adapters + norms < 0.03 * 109_482_240  # the parameters of BERT base


LOAD = """
    import numpy as np
    import kerasbert
    from kerasbert import tuning

    batch = dict(np.load("batch.npz"))
    for method in ("lora", "adapters", "prompts", "prefixes"):
        model = kerasbert.TextClassifier.from_preset("base", labels=["a", "b", "c"])
        tuning.load_delta(model, f"{method}.safetensors")
        np.save(f"{method}.npy", model.predict(batch, verbose=0))
        model.fit(batch, np.zeros(len(batch["token_ids"]), "int32"), verbose=0)
"""


def test_other_backends_load_it(preset, tmp_path, run_fresh, other_backends):
    np.savez(tmp_path / "batch.npz", **BATCH)
    expected = {}
    for method, apply in METHODS.items():
        model = disturb(apply(base(preset)))
        tuning.save_delta(model, tmp_path / f"{method}.safetensors")
        expected[method] = logits_of(model)
    for backend in other_backends:
        run_fresh(LOAD, backend, tmp_path)
        for method, logits in expected.items():
            np.testing.assert_allclose(np.load(tmp_path / f"{method}.npy"), logits, atol=1e-4)


def test_an_encoder_alone_has_a_delta_too(preset, tmp_path):
    encoder = disturb(tuning.prompts(Encoder.from_preset(preset), 3))
    tuning.save_delta(encoder, tmp_path / "delta.safetensors")
    again = tuning.load_delta(Encoder.from_preset(preset), tmp_path / "delta.safetensors")
    expected = encoder(BATCH)["sequence_output"]
    np.testing.assert_array_equal(
        *map(keras.ops.convert_to_numpy, (again(BATCH)["sequence_output"], expected))
    )


def test_it_can_be_loaded_again_into_the_model_that_has_it(preset, tmp_path):
    model = disturb(METHODS["adapters"](base(preset)))
    expected = logits_of(model)
    tuning.save_delta(model, tmp_path / "delta.safetensors")
    disturb(model, seed=9)
    tuning.load_delta(model, tmp_path / "delta.safetensors")
    np.testing.assert_array_equal(logits_of(model), expected)


def test_a_quantized_base_has_a_delta_too(preset, tmp_path):
    models = []
    for _ in range(2):
        models.append(base(preset))
        models[-1].backbone.quantize("int8")
    disturb(tuning.lora(models[0], rank=2), scale=0.1)
    tuning.save_delta(models[0], tmp_path / "delta.safetensors")
    tuning.load_delta(models[1], tmp_path / "delta.safetensors")
    np.testing.assert_array_equal(*map(logits_of, models))


def other_config(preset):
    return classifier(num_layers=3)


def other_family(preset):
    return tiny_families.task_of("ernie", "classifier", num_task_types=0, **STILL)


def other_weights(preset):
    return TextClassifier(tiny_families.encoder_of("bert", **STILL), labels=["a", "b", "c"])


def other_labels(preset):
    return base(preset, labels=["a", "c", "b"])


def more_labels(preset):
    return base(preset, labels=["a", "b", "c", "d"])


def other_task(preset):
    return TokenClassifier.from_preset(preset, labels=["a", "b", "c"])


def encoder_alone(preset):
    return Encoder.from_preset(preset)


def other_addition(preset):
    return tuning.lora(base(preset), rank=3)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (other_config, r"encoder.num_layers: 2, here 3"),
        (other_family, r"encoder.family: 'bert', here 'ernie'"),
        (other_weights, r"embeddings/token/embeddings: \[.*\], here \["),
        (other_labels, r"head.labels: \['a', 'b', 'c'\], here \['a', 'c', 'b'\]"),
        (more_labels, r"head.num_classes: 3, here 4"),
        (other_task, r"class: 'TextClassifier', here 'TokenClassifier'"),
        (encoder_alone, r"class: 'TextClassifier', here 'Encoder'"),
        (other_addition, r"rank=2.*here.*rank=3"),
    ],
)
def test_another_model_is_refused_and_stays_as_it_is(build, message, preset, tmp_path):
    tuning.save_delta(disturb(METHODS["lora"](base(preset))), tmp_path / "delta.safetensors")
    model = build(preset)
    before = values_of(model)
    with pytest.raises(ValueError, match=rf"(?s)delta.safetensors.*nothing was loaded.*{message}"):
        tuning.load_delta(model, tmp_path / "delta.safetensors")
    after = values_of(model)
    assert before.keys() == after.keys()
    for path, value in before.items():
        np.testing.assert_array_equal(after[path], value)


def test_rates_of_dropout_may_differ(preset, tmp_path):
    model = disturb(METHODS["lora"](base(preset)))
    tuning.save_delta(model, tmp_path / "delta.safetensors")
    encoder = Encoder(model.backbone.config.replace(hidden_dropout=0.4))
    for variable, other in zip(encoder.weights, Encoder.from_preset(preset).weights, strict=True):
        variable.assign(keras.ops.convert_to_numpy(other))
    again = TextClassifier(encoder, labels=["a", "b", "c"], dropout=0.3)
    tuning.load_delta(again, tmp_path / "delta.safetensors")
    np.testing.assert_array_equal(logits_of(again), logits_of(model))


def test_a_threshold_that_was_found_after_training_is_loaded_too(preset, tmp_path):
    model = QuestionAnswerer.from_preset(preset)
    METHODS["prompts"](model)
    model.no_answer_threshold = 1.25  # as `tune_threshold` does
    tuning.save_delta(model, tmp_path / "delta.safetensors")
    again = tuning.load_delta(QuestionAnswerer.from_preset(preset), tmp_path / "delta.safetensors")
    assert again.no_answer_threshold == 1.25


class TestBrokenFiles:
    @pytest.fixture
    def model(self, preset):
        return base(preset)

    @pytest.fixture
    def path(self, preset, tmp_path):
        tuning.save_delta(disturb(METHODS["lora"](base(preset))), tmp_path / "delta.safetensors")
        return tmp_path / "delta.safetensors"

    def check(self, model, path, message):
        before = values_of(model)
        with pytest.raises(ValueError, match=message):
            tuning.load_delta(model, path)
        assert model.backbone.additions == ()
        for name, value in values_of(model).items():
            np.testing.assert_array_equal(value, before[name])

    @pytest.mark.parametrize("share", [0, 0.02, 0.5, 0.999])
    def test_a_truncated_file(self, model, path, share):
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        self.check(model, path, "missing, cut short or damaged.*delta.safetensors")

    def test_no_file(self, model, tmp_path):
        self.check(model, tmp_path / "none.safetensors", "missing, cut short or damaged")

    def test_another_kind_of_file(self, model, tmp_path):
        write_safetensors(tmp_path / "model.safetensors", {"kernel": np.ones(2, "float32")})
        self.check(model, tmp_path / "model.safetensors", "no file that .*save_delta. wrote")

    @pytest.mark.parametrize("change", ["missing", "shape"])
    def test_a_head_that_is_not_whole(self, model, path, change):
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata()
        tensors = load_file(path)
        if change == "missing":
            del tensors["head/output/bias"]
        else:
            tensors["head/output/bias"] = np.zeros(7, "float32")
        write_safetensors(path, tensors, metadata)
        found = "missing" if change == "missing" else r"\(7,\)"
        self.check(model, path, rf"(?s)does not fit.*head/output/bias: {found}, here \(3,\)")

    def test_settings_stay_readable(self, path):
        from safetensors import safe_open

        with safe_open(path, framework="numpy") as file:
            settings = json.loads(file.metadata()["kerasbert_delta"])
        assert settings["additions"] == [
            {"method": "lora", "rank": 2, "alpha": 3, "targets": ["query", "value"]}
        ]


def test_a_file_that_cannot_be_written_leaves_nothing(preset, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise OSError("disk full")

    model = METHODS["lora"](base(preset))
    monkeypatch.setattr("kerasbert.checkpoints.weight_files.save_file", fail)
    with pytest.raises(OSError, match="disk full"):
        tuning.save_delta(model, tmp_path / "deltas" / "delta.safetensors")
    assert list((tmp_path / "deltas").iterdir()) == []


def test_a_frozen_encoder_alone_has_nothing_to_save(preset, tmp_path):
    encoder = Encoder.from_preset(preset)
    encoder.trainable = False
    with pytest.raises(ValueError, match="nothing to save"):
        tuning.save_delta(encoder, tmp_path / "delta.safetensors")
