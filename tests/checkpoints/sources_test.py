"""What a preset's name may stand for, and what is said where it stands for nothing."""

import json

import pytest

from kerasbert import Encoder, TextClassifier
from kerasbert.checkpoints import sources
from kerasbert.checkpoints.errors import CheckpointError


def test_a_built_in_name_without_weights_needs_no_network(monkeypatch):
    monkeypatch.setattr(sources, "_fetch", lambda handle: pytest.fail(f"fetched {handle}"))
    found = sources.resolve("bert_tiny_en_uncased", load_weights=False)
    assert (found.layout, found.family.name) == ("built-in", "bert")
    encoder = Encoder.from_preset("bert_tiny_en_uncased", load_weights=False)
    assert encoder.config.num_layers == 2
    assert encoder.family == "bert"


@pytest.mark.parametrize(
    ("name", "near"),
    [("bert_base_uncased", "bert_base_en_uncased"), ("distilbert_base_en", "distil_bert_base_en")],
)
def test_an_unknown_name_lists_near_ones(name, near):
    with pytest.raises(ValueError, match=near) as error:
        Encoder.from_preset(name)
    assert name in str(error.value)


def test_a_name_like_no_other_points_to_the_list():
    with pytest.raises(ValueError, match="list_presets"):
        Encoder.from_preset("xyzzy")


@pytest.mark.parametrize("cls", [Encoder, TextClassifier])
def test_a_missing_folder_is_named(cls, tmp_path):
    with pytest.raises(ValueError, match=r"no such folder.*nowhere"):
        cls.from_preset(tmp_path / "nowhere")


def test_a_folder_without_configuration_says_what_it_holds(tmp_path):
    (tmp_path / "notes.txt").write_text("")
    with pytest.raises(CheckpointError, match=r"no config\.json.*notes\.txt"):
        Encoder.from_preset(tmp_path)


@pytest.mark.parametrize("text", ["{", "[1, 2]", '"bert"', "\xff"])
def test_a_configuration_that_is_no_json_object_is_named(text, tmp_path):
    (tmp_path / "config.json").write_text(text, encoding="latin-1")
    with pytest.raises(CheckpointError, match=r"config\.json"):
        Encoder.from_preset(tmp_path)


def test_a_configuration_of_no_known_layout_says_which_are_known(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"hidden_size": 8}))
    with pytest.raises(CheckpointError, match="model_type"):
        Encoder.from_preset(tmp_path)


def test_an_unknown_scheme_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"hf://.*kaggle://"):
        Encoder.from_preset("s3://bucket/model")


@pytest.mark.parametrize(
    ("handle", "module"), [("hf://a/b", "huggingface_hub"), ("kaggle://a/b/c", "kagglehub")]
)
def test_a_missing_hub_library_says_what_to_install(handle, module, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ImportError, match=f"pip install {module}"):
        Encoder.from_preset(handle)


def test_a_handle_is_fetched_by_its_hub(monkeypatch, tmp_path):
    import huggingface_hub

    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert"}))
    asked = []

    def snapshot_download(repository, **options):
        asked.append(repository)
        return str(tmp_path)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert sources.resolve("hf://owner/name").layout == "transformers"
    assert sources.resolve("bert_base_en").folder == tmp_path
    assert asked == ["owner/name", "google-bert/bert-base-cased"]


def test_a_hub_that_cannot_be_reached_is_said_with_the_handle(monkeypatch):
    import huggingface_hub

    def refuse(*_, **__):
        raise OSError("offline")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    with pytest.raises(OSError, match="google-bert/bert-base-cased"):
        sources.resolve("bert_base_en")
