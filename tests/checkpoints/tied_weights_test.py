"""Folders of every family as they are found: tied weights, formats of files, whole and broken."""

import json
import re
import warnings

import numpy as np
import pytest
import torch
import transformers
from keras import ops
from safetensors.torch import load_file, save_file

from kerasbert import Encoder, MaskedLM, TextClassifier
from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.hugging_face import HuggingFaceFolder
from kerasbert.checkpoints.sources import resolve
from kerasbert.families import FAMILIES
from kerasbert.families.names import expand
from tests.models.tiny_families import ARGUMENTS, TASKS
from tests.parity import tiny_models
from tests.parity.tiny_models import CONFIGS, PLAIN

DEBERTA = {
    **tiny_models.STACK,
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "position_biased_input": False,
}
FILE = "model.safetensors"
FORMATTED = ("roberta", "modernbert", "deberta")  # plain, fused and interleaved matrices


def config_of(family):
    """A tiny configuration of `transformers`."""
    kinds = {"deberta": transformers.DebertaConfig, "deberta-v2": transformers.DebertaV2Config}
    return kinds[family](**DEBERTA) if family in kinds else CONFIGS[PLAIN[family]]()


def save(family, folder, task=None, **options):
    """A random model of a family in a folder: with the head of a task, or none."""
    config = config_of(family)
    make = tiny_models.encoder if task is None else tiny_models.with_head
    theirs = tiny_models.randomize(make(config, *(() if task is None else (task,))))
    theirs.save_pretrained(folder, **options)
    return theirs


def rewrite(folder, change):
    """Replace the tensors of a folder by what `change` makes of them."""
    tensors = load_file(folder / FILE)
    copies = {key: value.clone() for key, value in change(tensors).items()}
    save_file(copies, folder / FILE, metadata={"format": "pt"})


def quietly(load, *args, **kwargs):
    """Call and fail on any warning."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=UserWarning)
        return load(*args, **kwargs)


def values_of(model):
    return {v.path: ops.convert_to_numpy(v) for v in model.weights if v.dtype == "float32"}


def assert_same(found, expected):
    found, expected = (values_of(model) for model in (found, expected))
    assert found.keys() == expected.keys()
    for path, value in expected.items():
        np.testing.assert_array_equal(found[path], value, err_msg=path)


# Tied weights


@pytest.fixture(scope="module", params=FAMILIES)
def masked_lm(request, tmp_path_factory):
    """The folder of a masked language model, its copies of weights (by key), and ours."""
    folder = tmp_path_factory.mktemp(request.param)
    theirs = save(request.param, folder, "masked_lm")
    return folder, dict(theirs._tied_weights_keys), quietly(MaskedLM.from_preset, folder)


@pytest.fixture
def variant(masked_lm, tmp_path):
    """Writes the model's folder with other tensors."""
    source, _, _ = masked_lm

    def write(change):
        for name in ("config.json", FILE):
            (tmp_path / name).write_bytes((source / name).read_bytes())
        rewrite(tmp_path, change)
        return tmp_path

    return write


def test_it_does_not_matter_which_of_two_tied_weights_a_file_has(masked_lm, variant):
    folder, copies, expected = masked_lm
    saved = load_file(folder / FILE)
    own = {copy: key for copy, key in copies.items() if key in saved}
    assert own
    assert not own.keys() & saved.keys()  # transformers writes the embedding alone
    renamed = {key: copy for copy, key in own.items()}
    only_copies = variant(lambda t: {renamed.get(key, key): value for key, value in t.items()})
    assert_same(quietly(MaskedLM.from_preset, only_copies), expected)
    both = variant(lambda _: {**saved, **{copy: saved[key] for copy, key in own.items()}})
    assert_same(quietly(MaskedLM.from_preset, both), expected)


def test_copies_that_differ_are_one_error_that_names_both(masked_lm, variant):
    _, copies, expected = masked_lm
    copy, key = next((c, k) for c, k in copies.items() if k.endswith("embeddings.weight"))
    folder = variant(lambda tensors: {**tensors, copy: tensors[key] + 1})
    with pytest.raises(CheckpointError, match="untied") as error:
        MaskedLM.from_preset(folder)
    assert copy in str(error.value)
    assert key in str(error.value)
    # The encoder of such a model is whole: only the copy is not part of it.
    with pytest.warns(UserWarning, match="not loaded") as caught:
        encoder = Encoder.from_preset(folder)
    assert len(caught) == 1
    table = ops.convert_to_numpy(encoder.token_embedding.embeddings)
    np.testing.assert_array_equal(
        table, ops.convert_to_numpy(expected.backbone.token_embedding.embeddings)
    )


# Files


@pytest.fixture(scope="module", params=FORMATTED)
def classifier(request, tmp_path_factory):
    """A classifier of `transformers`, its folder, and the family's name."""
    folder = tmp_path_factory.mktemp(request.param)
    return save(request.param, folder, "classifier"), folder, request.param


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened_exactly(classifier, dtype, tmp_path):
    theirs, folder, _ = classifier
    (tmp_path / "config.json").write_bytes((folder / "config.json").read_bytes())
    half = {key: value.to(dtype).contiguous() for key, value in theirs.state_dict().items()}
    rounded, narrow = tmp_path / "rounded", tmp_path / "narrow"
    for target, tensors in ((rounded, {k: v.float() for k, v in half.items()}), (narrow, half)):
        target.mkdir()
        (target / "config.json").write_bytes((folder / "config.json").read_bytes())
        save_file(tensors, target / FILE, metadata={"format": "pt"})
    assert_same(*(quietly(TextClassifier.from_preset, path) for path in (narrow, rounded)))


def test_shards_and_bin_files_hold_the_same_model(classifier, tmp_path):
    theirs, folder, _ = classifier
    expected = quietly(TextClassifier.from_preset, folder)
    theirs.save_pretrained(tmp_path / "shards", max_shard_size=20_000)
    assert len(list((tmp_path / "shards").glob("model-*.safetensors"))) > 1
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "config.json").write_bytes((folder / "config.json").read_bytes())
    torch.save(theirs.state_dict(), tmp_path / "bin" / "pytorch_model.bin")
    for name in ("shards", "bin"):
        assert_same(quietly(TextClassifier.from_preset, tmp_path / name), expected)


# From one kind of model to another


def test_a_pretraining_folder_gives_a_masked_language_model_with_its_head(tmp_path):
    theirs = save("bert", tmp_path, "pretraining")
    with pytest.warns(UserWarning, match=r"not loaded: cls\.seq_relationship\.bias") as caught:
        ours = MaskedLM.from_preset(tmp_path)
    assert len(caught) == 1
    ids = np.array([[2, 7, 9, 3]], "int32")
    batch = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids * 0 + 1}
    with torch.no_grad():
        expected = theirs(torch.tensor(ids).long()).prediction_logits.numpy()
    np.testing.assert_allclose(ops.convert_to_numpy(ours(batch)), expected, atol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("task", ["classifier", "masked_lm"])
def test_a_task_folder_gives_an_encoder_and_one_warning_names_what_is_left(family, task, tmp_path):
    theirs = save(family, tmp_path, task)
    with pytest.warns(UserWarning, match="not loaded: ") as caught:
        encoder = Encoder.from_preset(tmp_path)
    (message,) = (str(warning.message) for warning in caught)
    assert message.partition(" ")[0].isdigit()
    named = re.findall(r"[\w.]+", message.partition("not loaded: ")[2].removesuffix("..."))
    prefix = f"{theirs.base_model_prefix}."
    assert named
    assert not [key for key in named if key.startswith(prefix)]
    assert set(named) <= load_file(tmp_path / FILE).keys()
    assert encoder.family == family


@pytest.mark.parametrize("family", FAMILIES)
def test_a_bare_encoder_gives_every_task_a_new_head(family, tmp_path):
    save(family, tmp_path)
    expected = values_of(Encoder.from_preset(tmp_path))
    for task, cls in TASKS.items():
        model = quietly(cls.from_preset, tmp_path, **ARGUMENTS.get(task, {}))
        found = values_of(model.backbone)
        assert {path for path in expected.keys() - found.keys()} <= {"pooler/kernel", "pooler/bias"}
        for path, value in found.items():
            np.testing.assert_array_equal(value, expected[path], err_msg=path)
        new = [value for path, value in values_of(model).items() if path not in expected]
        assert all(np.isfinite(value).all() for value in new)
        assert any(np.std(value) > 0 for value in new) or task == "text_embedder"  # it has no head


# What cannot be read


def test_an_unknown_model_type_lists_all_that_are_supported(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "t5"}))
    with pytest.raises(ValueError, match="'t5'") as error:
        Encoder.from_preset(tmp_path)
    assert [name for name in FAMILIES if repr(name) not in str(error.value)] == []


@pytest.fixture
def broken(tmp_path):
    """The folder of an encoder with fused matrices, and a model of ours with its configuration."""
    save("modernbert", tmp_path)
    return tmp_path, Encoder.from_preset(tmp_path, load_weights=False)


@pytest.mark.parametrize("rows", [107, 109, 111, 36, 0])
def test_a_fused_matrix_of_another_shape_is_one_error_and_nothing_is_loaded(broken, rows):
    folder, model = broken
    key = "layers.1.attn.Wqkv.weight"
    rewrite(folder, lambda tensors: {**tensors, key: torch.zeros(rows, 36)})
    with pytest.raises(CheckpointError) as error:
        Encoder.from_preset(folder)
    for part in (FILE, key, f"({rows}, 36)", "(108, 36)"):
        assert part in str(error.value)
    before = values_of(model)
    source = HuggingFaceFolder.open(resolve(folder, True))
    variables = {variable.path: variable for variable in model.weights}
    rows_of_table = expand(source.encoder_rows, source.config)
    with source.weights() as weights, pytest.raises(CheckpointError):
        weights.load_into(variables, rows_of_table)
    for path, value in values_of(model).items():
        np.testing.assert_array_equal(value, before[path], err_msg=path)


@pytest.mark.parametrize("keep", [0.0, 0.1, 0.5, 0.999])
def test_a_truncated_file_is_one_error_that_names_it(broken, keep):
    folder, _ = broken
    content = (folder / FILE).read_bytes()
    (folder / FILE).write_bytes(content[: int(len(content) * keep)])
    with pytest.raises(CheckpointError, match=re.escape(FILE)):
        Encoder.from_preset(folder)
