"""PyTorch's two file formats, read with numpy alone: nothing of the file runs, torch is not needed.

Since PyTorch 1.6 a file is an uncompressed zip archive: `<name>/data.pkl` describes the tensors,
`<name>/data/<key>` holds their storages. Before that it was a run of pickles (magic number,
protocol version, facts about the system, the object, the storages' keys) followed by the raw
storages, each after its number of elements.
"""

from __future__ import annotations

import io
import math
import os
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.pickle_reader import Storage, TensorRecord, read_pickle

_OLD_FORMAT_MAGIC = 0x1950A86A20F9469CFC6C
_OLD_FORMAT_VERSION = 1001
_MAX_PICKLE_BYTES = 2**23  # a tensor takes about 100 bytes of it; hostile ones end here
_REMEDY = "Download the file again, or save the weights as safetensors"


class TorchFile:
    """The tensors of one `.bin` file. They are read from disk one by one, when asked for.

    Everything that the file says about sizes and places is checked on construction.

    Args:
        path: The file.

    Attributes:
        shapes: The shape of every tensor by key.

    Raises:
        CheckpointError: The file is not a PyTorch weights file, is cut short or damaged, or wants
            more than tensors to be loaded.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            with open(path, "rb") as file:
                is_zip = file.read(4) == b"PK\x03\x04"
                file.seek(0)
                read = _read_zip if is_zip else _read_old_format
                state, self._positions, self._byte_order = read(file)
            self._records = _tensors_by_key(state)
            for record in self._records.values():
                _check_fits(record, self._positions, path.stat().st_size)
        except CheckpointError as error:
            raise CheckpointError(
                f"This PyTorch weights file cannot be read: {error}. {_REMEDY}. "
                f"Received: file={str(path)!r}."
            ) from error
        self.shapes = {key: record.shape for key, record in self._records.items()}

    def read(self, key: str) -> np.ndarray:
        record = self._records[key]
        native = _numpy_dtype(record.storage)
        stored = native.newbyteorder(self._byte_order)
        # A storage without elements cannot be mapped into memory.
        values = np.empty(record.shape, native)
        if values.size:
            storage = np.memmap(
                self._path,
                dtype=stored,
                mode="r",
                offset=self._positions[record.storage.key][0],
                shape=(record.storage.size,),
            )
            strides = [
                stride * stored.itemsize if size > 1 else 0
                for size, stride in zip(record.shape, record.strides, strict=True)
            ]
            start = storage[record.offset :]
            values[...] = np.lib.stride_tricks.as_strided(start, record.shape, strides)
        return _widen_bfloat16(values) if record.storage.dtype == "bfloat16" else values

    def close(self) -> None:
        """Nothing stays open between two reads."""


# Where each storage lies: key -> (position in the file, bytes there).
_Positions = dict[str, tuple[int, int]]


def _read_zip(file: io.BufferedReader) -> tuple[Any, _Positions, str]:
    try:
        entries = {info.filename: info for info in zipfile.ZipFile(file).infolist()}
    # The directory of a damaged archive fails in all these ways; MemoryError: its sizes can lie.
    except (
        zipfile.BadZipFile,
        zipfile.LargeZipFile,
        struct.error,
        OSError,
        ValueError,
        NotImplementedError,
        OverflowError,
        MemoryError,
    ) as error:
        raise CheckpointError("it is cut short or damaged (no directory at its end)") from error
    description = next((name for name in entries if name.endswith("/data.pkl")), None)
    if description is None:
        raise CheckpointError("it is a zip archive, but not one of PyTorch (no data.pkl)")
    folder = description.removesuffix("data.pkl")
    byte_order = "<"
    if f"{folder}byteorder" in entries:
        byte_order = ">" if _read_entry(file, entries[f"{folder}byteorder"]) == b"big" else "<"
    state, _ = read_pickle(io.BytesIO(_read_entry(file, entries[description])))
    prefix = f"{folder}data/"
    positions = {
        name.removeprefix(prefix): (_entry_position(file, info), info.file_size)
        for name, info in entries.items()
        if name.startswith(prefix)
    }
    return state, positions, byte_order


def _entry_position(file: io.BufferedReader, info: zipfile.ZipInfo) -> int:
    """Where the bytes of an entry start: its own header has names and padding of any length."""
    if info.compress_type != zipfile.ZIP_STORED:
        raise CheckpointError("its parts are compressed, which PyTorch never does")
    header = b""
    if 0 <= info.header_offset <= os.fstat(file.fileno()).st_size:
        file.seek(info.header_offset)
        header = file.read(30)
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise CheckpointError("it is cut short or damaged (a part is not where it should be)")
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    return info.header_offset + 30 + name_length + extra_length


def _read_entry(file: io.BufferedReader, info: zipfile.ZipInfo) -> bytes:
    if info.file_size > _MAX_PICKLE_BYTES:
        raise CheckpointError(f"its description is larger than {_MAX_PICKLE_BYTES} bytes")
    file.seek(_entry_position(file, info))
    return file.read(info.file_size)


def _read_old_format(file: io.BufferedReader) -> tuple[Any, _Positions, str]:
    start = io.BytesIO(file.read(_MAX_PICKLE_BYTES))
    try:
        (magic, _), (version, _) = read_pickle(start), read_pickle(start)
    except CheckpointError:
        magic = version = None
    if (magic, version) != (_OLD_FORMAT_MAGIC, _OLD_FORMAT_VERSION):
        raise CheckpointError("it is empty, or not a PyTorch file at all")
    system, _ = read_pickle(start)
    little_endian = not isinstance(system, dict) or system.get("little_endian", True) is True
    state, storages = read_pickle(start)
    keys, _ = read_pickle(start)
    positions = _old_format_positions(file, start.tell(), keys, storages)
    return state, positions, "<" if little_endian else ">"


def _old_format_positions(
    file: io.BufferedReader, position: int, keys: Any, storages: dict[str, Storage]
) -> _Positions:
    file_size = os.fstat(file.fileno()).st_size
    positions: _Positions = {}
    if not isinstance(keys, list):
        raise CheckpointError("its list of storages is damaged")
    for key in keys:
        if not isinstance(key, str) or key not in storages:
            raise CheckpointError("it has storages that belong to no tensor")
        file.seek(position)
        header = file.read(8)
        item_size = _numpy_dtype(storages[key]).itemsize
        size = int.from_bytes(header, "little", signed=True) * item_size
        position += 8
        if len(header) < 8 or not 0 <= size <= file_size - position:
            raise CheckpointError("it is cut short or damaged (the last storages are missing)")
        positions[key] = (position, size)
        position += size
    return positions


def _tensors_by_key(state: Any) -> dict[str, TensorRecord]:
    """The tensors of a state dict. What else lies in one (step counts, ...) is no weight."""
    items = state.items() if isinstance(state, dict) else ()
    tensors = {key: value for key, value in items if isinstance(value, TensorRecord)}
    if not tensors:
        raise CheckpointError("it holds no dictionary of tensors at its top level")
    return tensors


def _check_fits(record: TensorRecord, positions: _Positions, file_size: int) -> None:
    storage = record.storage
    position, stored_bytes = positions.get(storage.key, (0, -1))
    wanted = storage.size * _numpy_dtype(storage).itemsize
    if wanted > stored_bytes or position + stored_bytes > file_size:
        raise CheckpointError("it is cut short or damaged (a storage is smaller than its tensors)")
    # Strides of 0 can blow up one number to any size; no honest weight does.
    if math.prod(record.shape) > file_size:
        raise CheckpointError("it holds a tensor with more elements than the file has bytes")


def _numpy_dtype(storage: Storage) -> np.dtype:
    return np.dtype("u2" if storage.dtype == "bfloat16" else storage.dtype)


def _widen_bfloat16(bits: np.ndarray) -> np.ndarray:
    """bfloat16 is the upper half of a float32."""
    wide = bits.astype("u4")
    np.left_shift(wide, 16, out=wide)
    return wide.view("f4")
