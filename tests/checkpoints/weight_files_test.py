import json
import os
import subprocess
import sys

import numpy as np
import pytest

from kerasbert.checkpoints.weight_files import CheckpointError, open_weights, write_safetensors


def tiny_state():
    """Every dtype, and views: transposed, sliced, sharing a storage, a scalar, an empty one."""
    import torch

    torch.manual_seed(0)
    kernel = torch.randn(4, 6)
    return {
        "float32": kernel,
        "float16": torch.randn(3, 5).half(),
        "bfloat16": torch.randn(3, 5).bfloat16(),
        "float64": torch.randn(2).double(),
        "position_ids": torch.arange(7).expand((1, -1)),
        "int8": torch.tensor([-3, 4], dtype=torch.int8),
        "bool": torch.tensor([True, False]),
        "transposed": kernel.t(),
        "sliced": kernel[1:3, 2:6:2],
        "parameter": torch.nn.Parameter(torch.randn(3)),
        "scalar": torch.tensor(2.5),
        "bfloat16_scalar": torch.tensor(2.5).bfloat16(),
        "empty": torch.zeros(0, 3).bfloat16(),
    }


def assert_equals_torch(weights, state):
    assert sorted(weights.keys()) == sorted(state)
    for key, tensor in state.items():
        expected = tensor.detach()
        expected = (expected.float() if expected.is_floating_point() else expected).numpy()
        assert weights.shape(key) == expected.shape
        value = weights.read(key)
        assert type(value) is np.ndarray
        assert value.dtype == expected.dtype
        np.testing.assert_array_equal(value, expected)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("protocol", [2, 4])
def test_pytorch_files_of_both_formats_hold_what_torch_saved(tmp_path, zipped, protocol):
    import torch

    state = tiny_state()
    torch.save(
        state,
        tmp_path / "pytorch_model.bin",
        pickle_protocol=protocol,
        _use_new_zipfile_serialization=zipped,
    )
    with open_weights(tmp_path) as weights:
        assert_equals_torch(weights, state)
        assert weights.file_of("float32") == tmp_path / "pytorch_model.bin"


@pytest.mark.parametrize("zipped", [True, False])
def test_the_state_of_a_module_is_read_with_its_metadata_left_out(tmp_path, zipped):
    import torch

    module = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.LayerNorm(2))
    path = tmp_path / "pytorch_model.bin"
    torch.save(module.state_dict(), path, _use_new_zipfile_serialization=zipped)
    assert_equals_torch(open_weights(tmp_path), module.state_dict())


def test_safetensors_files_hold_what_safetensors_saved(tmp_path):
    from safetensors.torch import save_file

    state = {key: tensor.detach().clone().contiguous() for key, tensor in tiny_state().items()}
    save_file(state, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with open_weights(tmp_path) as weights:
        assert_equals_torch(weights, state)


def test_a_dtype_without_a_numpy_equivalent_is_named(tmp_path):
    import torch
    from safetensors.torch import save_file

    tensor = torch.ones(2).to(torch.float8_e4m3fn)
    save_file({"small": tensor}, tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match=r"'small'.*F8_E4M3.*float32"):
        open_weights(tmp_path).read("small")


def test_written_safetensors_are_what_safetensors_reads(tmp_path):
    from safetensors import safe_open

    array = np.arange(6, dtype="float32").reshape(2, 3)
    tensors = {"kernel": array, "transposed": array.T, "scalar": np.array(3, "int64")}
    tensors["half"] = array[:, ::2].astype("float16")
    write_safetensors(tmp_path / "model.safetensors", tensors)
    with safe_open(tmp_path / "model.safetensors", framework="numpy") as file:
        assert file.metadata() == {"format": "pt"}
        assert sorted(file.keys()) == sorted(tensors)
        for key, expected in tensors.items():
            assert file.get_tensor(key).dtype == expected.dtype
            np.testing.assert_array_equal(file.get_tensor(key), expected)


def test_a_failed_write_keeps_the_old_file(tmp_path):
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"old": np.zeros(1, "float32")})
    with pytest.raises(Exception, match="dtype"):
        write_safetensors(path, {"new": np.array([object()])})
    assert open_weights(tmp_path).keys() == ["old"]
    assert [file.name for file in tmp_path.iterdir()] == ["model.safetensors"]


def write_shards(folder, kind):
    """Two shards of one weight each, and their index."""
    import torch

    suffix = "safetensors" if kind == "model" else "bin"
    weight_map = {}
    for number in (1, 2):
        name = f"{kind}-0000{number}-of-00002.{suffix}"
        value = np.full((2,), number, "float32")
        weight_map[f"layer.{number}"] = name
        if kind == "model":
            write_safetensors(folder / name, {f"layer.{number}": value})
        else:
            torch.save({f"layer.{number}": torch.from_numpy(value)}, folder / name)
    index = folder / f"{kind}.{suffix}.index.json"
    index.write_text(json.dumps({"metadata": {"total_size": 16}, "weight_map": weight_map}))
    return index, weight_map


@pytest.mark.parametrize("kind", ["model", "pytorch_model"])
def test_shards_are_read_as_one(tmp_path, kind):
    _, weight_map = write_shards(tmp_path, kind)
    weights = open_weights(tmp_path)
    assert weights.keys() == list(weights) == ["layer.1", "layer.2"]
    assert "layer.1" in weights
    assert "layer.3" not in weights
    assert weights.file_of("layer.2").name == weight_map["layer.2"]
    np.testing.assert_array_equal(weights.read("layer.2"), [2, 2])


@pytest.mark.parametrize("kind", ["model", "pytorch_model"])
def test_a_missing_shard_is_named(tmp_path, kind):
    _, weight_map = write_shards(tmp_path, kind)
    (tmp_path / weight_map["layer.2"]).unlink()
    with pytest.raises(CheckpointError, match=weight_map["layer.2"]):
        open_weights(tmp_path)


@pytest.mark.parametrize("kind", ["model", "pytorch_model"])
def test_a_key_that_its_shard_lacks_is_named(tmp_path, kind):
    index, weight_map = write_shards(tmp_path, kind)
    weight_map["layer.3"] = weight_map["layer.1"]
    index.write_text(json.dumps({"weight_map": weight_map}))
    with pytest.raises(CheckpointError, match=rf"{weight_map['layer.1']} lacks .*'layer.3'"):
        open_weights(tmp_path)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"weight_map": {}}',
        '{"weight_map": {"a": 3}}',
        '{"weight_map": ["a"]}',
        '{"weight_map": {"a": ""}}',
        '{"weight_map": {"a": "../outside.safetensors"}}',
        "[" * 10**5,
    ],
)
def test_a_damaged_index_is_named(tmp_path, content):
    write_safetensors(tmp_path / "outside.safetensors", {"a": np.zeros(1, "float32")})
    folder = tmp_path / "checkpoint"
    folder.mkdir()
    (folder / "model.safetensors.index.json").write_text(content)
    with pytest.raises(CheckpointError, match=r"model\.safetensors\.index\.json"):
        open_weights(folder)


def test_safetensors_go_first_and_shards_before_bin(tmp_path):
    import torch

    torch.save({"from_bin": torch.zeros(1)}, tmp_path / "pytorch_model.bin")
    assert open_weights(tmp_path).keys() == ["from_bin"]
    write_shards(tmp_path, "model")
    assert open_weights(tmp_path).keys() == ["layer.1", "layer.2"]
    write_safetensors(tmp_path / "model.safetensors", {"whole": np.zeros(1, "float32")})
    assert open_weights(tmp_path).keys() == ["whole"]


@pytest.mark.parametrize("folder", ["", "absent"])
def test_a_folder_without_weights_is_named(tmp_path, folder):
    with pytest.raises(CheckpointError, match=r"no weights.*model\.safetensors") as error:
        open_weights(tmp_path / folder)
    assert str(tmp_path / folder) in str(error.value)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("content", [b"", b"\x00", b"PK\x03\x04", b"not weights" * 50])
def test_garbage_is_one_clear_error(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(CheckpointError, match=name):
        open_weights(tmp_path)


def test_a_git_lfs_pointer_is_recognized(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"
    (tmp_path / "model.safetensors").write_bytes(pointer)
    with pytest.raises(CheckpointError, match="git lfs pull"):
        open_weights(tmp_path)


def test_every_truncation_of_safetensors_is_an_error(tmp_path):
    path = tmp_path / "model.safetensors"
    write_safetensors(path, {"a": np.ones((3, 4), "float32"), "b": np.ones(5, "float16")})
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match=r"cut short or damaged"):
            open_weights(tmp_path)


def test_reading_pytorch_files_does_not_import_torch(tmp_path):
    import torch

    torch.save({"a": torch.ones(2)}, tmp_path / "pytorch_model.bin")
    code = (
        "import sys\n"
        "class NoTorch:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'torch': raise ImportError('torch is not installed')\n"
        "sys.meta_path.insert(0, NoTorch())\n"
        "from kerasbert.checkpoints.weight_files import open_weights\n"
        f"assert open_weights({str(tmp_path)!r}).read('a').tolist() == [1, 1]"
    )
    environment = {**os.environ, "KERAS_BACKEND": "jax"}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
