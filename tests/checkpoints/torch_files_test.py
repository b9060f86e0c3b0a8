"""Damaged and hostile PyTorch files: always one `CheckpointError`, and nothing of them runs."""

import io
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.torch_files import TorchFile

MAGIC = 0x1950A86A20F9469CFC6C


def saved(tmp_path, zipped):
    import torch

    path = tmp_path / "pytorch_model.bin"
    state = {"kernel": torch.randn(4, 6), "bias": torch.randn(6).half()}
    torch.save(state, path, _use_new_zipfile_serialization=zipped)
    return path


def try_to_read(path):
    """Reads all that the file seems to hold; nothing but a `CheckpointError` may come out."""
    try:
        file = TorchFile(path)
        for key in file.shapes:
            file.read(key)
    except CheckpointError:
        return False
    return True


def write_zip(path, description, storages, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", description)
        for key, content in storages.items():
            archive.writestr(f"archive/data/{key}", content)
    return path


def write_old_format(path, description):
    parts = [MAGIC, 1001, {"little_endian": True}]
    content = b"".join(pickle.dumps(part, 2) for part in parts) + description
    path.write_bytes(content + pickle.dumps([], 2))
    return path


def describe(size=6, offset=0, shape=(2, 3), strides=(3, 1), key=b"0", storage=b"FloatStorage"):
    """The pickle of `{"a": tensor}`, written by hand so that its numbers can lie."""

    def integer(value):
        body = value.to_bytes(16, "little", signed=True)
        return b"\x8a" + bytes([len(body)]) + body

    def numbers(values):
        return b"(" + b"".join(integer(value) for value in values) + b"t"

    def text(value):
        return b"X" + struct.pack("<I", len(value)) + value

    reference = text(b"storage") + b"ctorch\n" + storage + b"\n" + text(key) + text(b"cpu")
    return (
        b"\x80\x02}"
        + text(b"a")
        + b"ctorch._utils\n_rebuild_tensor_v2\n(("
        + reference
        + integer(size)
        + b"tQ"
        + integer(offset)
        + numbers(shape)
        + numbers(strides)
        + b"\x89ccollections\nOrderedDict\n)RtRs."
    )


@pytest.mark.parametrize("zipped", [True, False])
def test_a_file_cut_short_anywhere_is_an_error(tmp_path, zipped):
    path = saved(tmp_path, zipped)
    whole = path.read_bytes()
    assert try_to_read(path)
    for length in {*range(0, len(whole), 5), len(whole) - 1}:
        path.write_bytes(whole[:length])
        assert not try_to_read(path), length


# pickletools reads the text that damage can turn into invalid escapes.
@pytest.mark.filterwarnings("ignore:invalid escape sequence:DeprecationWarning")
@pytest.mark.parametrize("zipped", [True, False])
def test_no_damaged_byte_causes_another_error(tmp_path, zipped):
    path = saved(tmp_path, zipped)
    whole = path.read_bytes()
    random = np.random.default_rng(0)
    outcomes = set()
    for position in range(0, len(whole), 3):
        damaged = bytearray(whole)
        damaged[position] ^= int(random.integers(1, 256))
        path.write_bytes(damaged)
        outcomes.add(try_to_read(path))
    assert outcomes == {True, False}  # a changed number of a weight cannot be noticed


class SideEffect:
    """Unpickled by Python, this creates the file `executed`."""

    def __init__(self, path, function=os.system):
        self._call = (function, (f"touch {path}",))

    def __reduce__(self):
        return self._call


@pytest.mark.parametrize("protocol", [2, 4])
@pytest.mark.parametrize("writer", ["zip", "old"])
@pytest.mark.parametrize("function", [os.system, eval, __import__], ids=lambda f: f.__name__)
def test_a_malicious_pickle_is_refused_and_not_run(tmp_path, writer, protocol, function):
    executed = tmp_path / "executed"
    description = pickle.dumps({"a": SideEffect(executed, function)}, protocol)
    path = tmp_path / "pytorch_model.bin"
    if writer == "zip":
        write_zip(path, description, {})
    else:
        write_old_format(path, description)
    with pytest.raises(CheckpointError, match=function.__name__) as error:
        TorchFile(path)
    assert path.name in str(error.value)
    assert "safetensors" in str(error.value)
    assert not executed.exists()


def test_text_pickles_which_pytorch_never_writes_are_refused_and_not_run(tmp_path):
    description = pickle.dumps({"a": SideEffect(tmp_path / "executed")}, 0)
    path = write_zip(tmp_path / "a.bin", description, {})
    with pytest.raises(CheckpointError, match="pickle operation"):
        TorchFile(path)
    assert not (tmp_path / "executed").exists()


def test_a_malicious_first_pickle_of_the_old_format_is_not_run(tmp_path):
    path = tmp_path / "pytorch_model.bin"
    path.write_bytes(pickle.dumps(SideEffect(tmp_path / "executed"), 2))
    assert not try_to_read(path)
    assert not (tmp_path / "executed").exists()


def test_whole_modules_are_refused_by_name(tmp_path):
    import torch

    torch.save(torch.nn.Linear(2, 2), tmp_path / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match=r"torch\.nn\.modules\.linear\.Linear"):
        TorchFile(tmp_path / "pytorch_model.bin")


@pytest.mark.parametrize("content", [[], 3, {}, {"epoch": 3}])
def test_files_without_tensors_are_refused(tmp_path, content):
    import torch

    torch.save(content, tmp_path / "pytorch_model.bin")
    with pytest.raises(CheckpointError, match="no dictionary of tensors"):
        TorchFile(tmp_path / "pytorch_model.bin")


def test_a_hand_written_description_is_read(tmp_path):
    values = np.arange(6, dtype="<f4")
    path = write_zip(tmp_path / "a.bin", describe(), {"0": values.tobytes()})
    np.testing.assert_array_equal(TorchFile(path).read("a"), values.reshape(2, 3))


def test_big_endian_files_are_read(tmp_path):
    values = np.arange(6, dtype=">f4")
    path = write_zip(tmp_path / "a.bin", describe(), {"0": values.tobytes()})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("archive/byteorder", "big")
    np.testing.assert_array_equal(TorchFile(path).read("a"), values.reshape(2, 3))


def test_the_stride_of_a_dimension_of_one_does_not_matter(tmp_path):
    description = describe(shape=(1, 6), strides=(2**62, 1))
    path = write_zip(tmp_path / "a.bin", description, {"0": bytes(24)})
    assert TorchFile(path).read("a").shape == (1, 6)


@pytest.mark.parametrize(
    "lie",
    [
        {"size": 7},
        {"size": 2**62},
        {"size": -1},
        {"size": 2**100},
        {"offset": 1},
        {"offset": -1},
        {"offset": 2**63 - 1},
        {"shape": (3, 3)},
        {"shape": (-2, 3)},
        {"shape": (2**62, 2**62)},
        {"shape": (2, 3, 1)},
        {"shape": (1,) * 40, "strides": (1,) * 40},
        {"shape": (10**12,), "strides": (0,)},
        {"strides": (4, 1)},
        {"strides": (3, -1)},
        {"strides": (2**62, 1)},
        {"key": b"1"},
        {"storage": b"DoubleStorage"},
        {"storage": b"ComplexFloatStorage"},
    ],
    ids=str,
)
def test_sizes_and_places_that_lie_are_refused(tmp_path, lie):
    path = write_zip(tmp_path / "a.bin", describe(**lie), {"0": bytes(24)})
    assert not try_to_read(path)


@pytest.mark.parametrize("size", [-1, 7, 2**62])
def test_a_storage_of_the_old_format_that_lies_about_its_size_is_refused(tmp_path, size):
    path = write_old_format(tmp_path / "a.bin", describe())
    content = path.read_bytes().removesuffix(pickle.dumps([], 2)) + pickle.dumps(["0"], 2)
    path.write_bytes(content + struct.pack("<q", 6) + bytes(24))
    assert try_to_read(path)
    path.write_bytes(content + struct.pack("<q", size) + bytes(24))
    assert not try_to_read(path)


@pytest.mark.parametrize(
    "description",
    [
        b"\x80\x02X\xff\xff\xff\x7fabc.",  # a string of 2 GB, of which 3 bytes are there
        b"\x80\x05\x96" + b"\xff" * 8 + b"abc.",  # a bytearray of 2^64 bytes
        b"\x80\x02}r\xff\xff\xff\xff.",  # place 2^32 of the memo
        b"(((.",
        b"t.",
        b"\x87.",
        b"a.",
        b"\x80\x02}K\x01K\x02s.",  # a key that is a number
        b"\x80\x02}}}s.",
        b"h\x05.",
        b"Q.",
        b"R.",
    ],
)
def test_hostile_operations_are_refused_in_no_time(tmp_path, description):
    assert not try_to_read(write_zip(tmp_path / "a.bin", description, {}))
    assert not try_to_read(write_old_format(tmp_path / "a.bin", description))


def test_compressed_and_oversized_descriptions_are_refused(tmp_path):
    storages = {"0": bytes(24)}
    path = write_zip(tmp_path / "a.bin", describe(), storages, zipfile.ZIP_DEFLATED)
    with pytest.raises(CheckpointError, match="compressed"):
        TorchFile(path)
    path = write_zip(tmp_path / "a.bin", describe() + bytes(2**23), storages)
    with pytest.raises(CheckpointError, match="description is larger"):
        TorchFile(path)


def test_other_zip_archives_are_recognized(tmp_path):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("notes.txt", "hello")
    (tmp_path / "a.bin").write_bytes(content.getvalue())
    with pytest.raises(CheckpointError, match=r"not one of PyTorch.*a\.bin"):
        TorchFile(tmp_path / "a.bin")
