"""The page "Add a family" keeps its word: the file that it shows is all that a new family takes."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import safetensors.numpy
import torch
import transformers
from keras import ops

import kerasbert
from kerasbert.families import FAMILIES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "add-a-family.md"
PAD = 0
CONFIG = {
    "vocab_size": 97,
    "depth": 3,
    "heads": 3,
    "width": 36,
    "feed_forward_width": 50,
    "max_length": 40,
    "epsilon": 1e-3,
    "feed_forward_activation": "silu",
}
NAMES = {
    "embeddings.word_embeddings": "tokens",
    "embeddings.position_embeddings": "positions",
    "embeddings.LayerNorm": "norm_in",
    "attention.LayerNorm": "norm_1",
    "attention.output.dense": "mix",
    "intermediate.LayerNorm": "norm_2",
    "intermediate.dense": "up",
    "output.dense": "down",
    "LayerNorm": "norm_out",
}


@pytest.fixture(autouse=True)
def finch(monkeypatch):
    """The family as the page defines it, named where families are named."""
    (source,) = re.findall(r'```python title="[^"]*finch\.py"\n(.*?)```', PAGE.read_text(), re.S)
    namespace = {}
    exec(source, namespace)
    monkeypatch.setitem(FAMILIES, "finch", namespace["FINCH"])
    return namespace["FINCH"]


@pytest.fixture(scope="module")
def theirs():
    """A model of transformers that computes what Finch is said to compute."""
    config = transformers.RobertaPreLayerNormConfig(
        vocab_size=97,
        hidden_size=36,
        num_attention_heads=3,
        num_hidden_layers=3,
        intermediate_size=50,
        max_position_embeddings=41,
        hidden_act="silu",
        layer_norm_eps=1e-3,
        type_vocab_size=1,
        pad_token_id=PAD,
    )
    model = transformers.RobertaPreLayerNormForSequenceClassification(config).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.normal_(1.0 if "norm" in name.lower() else 0, 0.3, generator=generator)
        model.roberta_prelayernorm.embeddings.token_type_embeddings.weight.zero_()
    return model


@pytest.fixture
def folder(theirs, tmp_path):
    """Its weights under Finch's names, with Finch's configuration."""
    tensors, fused = {}, {}
    for key, value in theirs.state_dict().items():
        key = key.removeprefix("roberta_prelayernorm.")
        if "token_type" in key:
            continue
        stem, _, kind = key.rpartition(".")
        layer = re.match(r"encoder\.layer\.(\d+)\.", stem)
        block = f"blocks.{layer[1]}." if layer else ""
        stem = stem.removeprefix(layer[0]) if layer else stem
        if stem.startswith("attention.self."):
            fused.setdefault(f"finch.{block}qkv.{kind}", []).append(value.numpy())
        elif stem.startswith("classifier"):
            tensors[key] = value.numpy()
        else:
            tensors[f"finch.{block}{NAMES[stem]}.{kind}"] = value.numpy()
    tensors |= {key: np.concatenate(parts) for key, parts in fused.items()}
    folder = tmp_path / "finch"
    folder.mkdir()
    safetensors.numpy.save_file(tensors, folder / "model.safetensors")
    values = {
        "model_type": "finch",
        "architectures": ["FinchForSequenceClassification"],
        "id2label": {"0": "no", "1": "yes"},
        **CONFIG,
    }
    (folder / "config.json").write_text(json.dumps(values))
    return folder


def test_a_folder_of_the_new_family_is_read(folder, theirs):
    mask = np.array([[1] * 9, [0] * 3 + [1] * 6, [1] * 4 + [0] * 5], "int32")
    ids = np.random.default_rng(0).integers(1, 97, mask.shape) * mask
    classifier = kerasbert.TextClassifier.from_preset(folder)
    assert classifier.labels == ["no", "yes"]
    batch = {"token_ids": ids.astype("int32"), "padding_mask": mask}
    with torch.no_grad():
        expected = theirs(torch.tensor(ids), torch.tensor(mask)).logits.numpy()
    rows = mask[:, 0] == 1
    found = ops.convert_to_numpy(classifier(batch))
    np.testing.assert_allclose(found[rows], expected[rows], atol=1e-4)


def test_it_is_written_with_the_same_keys_and_values(folder, tmp_path):
    classifier = kerasbert.TextClassifier.from_preset(folder)
    classifier.export_to_transformers(tmp_path / "again")
    before, after = (
        safetensors.numpy.load_file(path / "model.safetensors")
        for path in (folder, tmp_path / "again")
    )
    assert before.keys() == after.keys()
    for key, value in before.items():
        np.testing.assert_array_equal(after[key], value)
    values = json.loads((tmp_path / "again" / "config.json").read_text())
    assert values["model_type"] == "finch"
    for name, value in CONFIG.items():
        assert values[name] == value


def test_its_presets_heads_and_own_files_are_there(folder, tmp_path):
    assert kerasbert.list_presets()["finch_base_en"] == "6 x 384"
    encoder = kerasbert.Encoder.from_preset("finch_base_en", load_weights=False)
    assert encoder.config.norm_placement == "pre"
    with pytest.warns(UserWarning, match="not part of this model"):
        model = kerasbert.MaskedLM.from_preset(folder)
    model.save_to_preset(tmp_path / "preset")
    again = kerasbert.MaskedLM.from_preset(tmp_path / "preset")
    assert again.backbone.family == "finch"
    for one, other in zip(model.weights, again.weights, strict=True):
        np.testing.assert_array_equal(*map(ops.convert_to_numpy, (one, other)))


def test_what_it_does_not_say_is_an_error(folder):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "song": "long"}))
    with pytest.raises(ValueError, match="song='long'"):
        kerasbert.Encoder.from_preset(folder)


def test_an_unsupported_model_type_lists_what_is_supported(folder):
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "model_type": "sparrow"}))
    with pytest.raises(ValueError, match=r"Supported are .*'finch'.* Received: 'sparrow'"):
        kerasbert.Encoder.from_preset(folder)


def test_the_page_is_short_enough_to_be_true():
    """Each family is a file of facts of about 150 lines."""
    folder = PAGE.parents[1] / "kerasbert" / "families"
    tables = [folder / f"{name.replace('-', '_')}.py" for name in FAMILIES]
    lengths = {path.name: len(path.read_text().splitlines()) for path in tables if path.is_file()}
    assert len(lengths) >= 12
    assert max(lengths.values()) < 160, lengths
