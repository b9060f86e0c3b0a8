"""The weights of a Hugging Face folder, whichever of its four usual layouts it has."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Protocol

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.torch_files import TorchFile
from kerasbert.data.files import atomic_path

__all__ = ["CheckpointError", "WeightFiles", "open_weights", "write_safetensors"]


class _WeightFile(Protocol):
    shapes: dict[str, tuple[int, ...]]

    def read(self, key: str) -> np.ndarray: ...
    def close(self) -> None: ...


class WeightFiles:
    """All weights of a folder, read from disk one by one. Made by `open_weights`."""

    def __init__(self, files: Mapping[Path, _WeightFile], paths: Mapping[str, Path]) -> None:
        self._files = files
        self._paths = paths

    def keys(self) -> list[str]:
        """The names of all weights, in the files' order."""
        return list(self._paths)

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __contains__(self, key: object) -> bool:
        return key in self._paths

    def file_of(self, key: str) -> Path:
        """The file that holds the weight `key`, for messages."""
        return self._paths[key]

    def shape(self, key: str) -> tuple[int, ...]:
        """The shape of the weight `key`, without reading it."""
        return self._files[self._paths[key]].shapes[key]

    def read(self, key: str) -> np.ndarray:
        """Reads one weight.

        Args:
            key: One of `keys()`.

        Returns:
            An array in memory: float32 for every floating dtype (float16 and bfloat16 are widened),
            integers and booleans as they are.

        Raises:
            KeyError: There is no such key.
            CheckpointError: The weight has a dtype that cannot be read.
        """
        array = self._files[self._paths[key]].read(key)
        return array if array.dtype.kind in "iub" else array.astype(np.float32, copy=False)

    def close(self) -> None:
        """Closes the files. Leaving a `with` block does it too."""
        for file in self._files.values():
            file.close()

    def __enter__(self) -> WeightFiles:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def open_weights(folder: str | os.PathLike) -> WeightFiles:
    """Opens the weights of a folder in Hugging Face's layout.

    The first that is there is taken: `model.safetensors`, `model.safetensors.index.json` (shards),
    `pytorch_model.bin`, `pytorch_model.bin.index.json` (shards). A `.bin` file is read by a reader
    of our own, which runs nothing of the file and does not need torch.

    Args:
        folder: The folder.

    Returns:
        A `WeightFiles`: `keys()`, `shape(key)`, `read(key)`, `file_of(key)`; usable in `with`.

    Raises:
        CheckpointError: A `ValueError`: no such file, or one that is cut short, damaged or wants
            more than weights to be loaded; a missing shard, or a shard without a key of the index.
            The message names the file and the remedy.

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_safetensors(folder / "model.safetensors", {"bias": np.zeros(3, "float16")})
    >>> with open_weights(folder) as weights:
    ...     weights.keys(), weights.shape("bias"), weights.read("bias").dtype
    (['bias'], (3,), dtype('float32'))
    """
    folder = Path(folder)
    for name, open_file in (
        ("model.safetensors", _SafetensorsFile),
        ("pytorch_model.bin", TorchFile),
    ):
        if (folder / name).is_file():
            return _from_one_file(folder / name, open_file)
        index = folder / f"{name}.index.json"
        if index.is_file():
            return _from_shards(index, open_file)
    raise CheckpointError(
        "This folder has no weights: neither model.safetensors nor pytorch_model.bin, nor an index "
        f"of shards of either. Download the checkpoint again. Received: folder={str(folder)!r}."
    )


def write_safetensors(
    path: str | os.PathLike,
    tensors: Mapping[str, np.ndarray],
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Writes arrays to a safetensors file, which appears only when it is complete.

    Args:
        path: The file. An existing one is replaced.
        tensors: Arrays by key. Their dtypes are kept; their layout in memory does not matter.
        metadata: Strings by name. Defaults to `{"format": "pt"}`, which `transformers` demands.

    Raises:
        OSError: The file cannot be written.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> write_safetensors(path, {"kernel": np.ones((2, 3), "float32")})
    """
    metadata = {"format": "pt"} if metadata is None else dict(metadata)
    contiguous = {key: np.asarray(value, order="C") for key, value in tensors.items()}
    with atomic_path(path) as temporary:
        save_file(contiguous, temporary, metadata=metadata)


class _SafetensorsFile:
    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._file = safe_open(path, framework="numpy")
            self.shapes = {
                key: tuple(self._file.get_slice(key).get_shape())
                for key in sorted(self._file.keys())
            }
        except (SafetensorError, OSError) as error:
            raise CheckpointError(
                f"This safetensors file is cut short or damaged ({error}). Download it again. "
                f"Received: file={str(path)!r}."
            ) from error

    def read(self, key: str) -> np.ndarray:
        try:
            return self._file.get_tensor(key)
        # numpy lacks some dtypes, such as the 8-bit floats.
        except (SafetensorError, AttributeError, TypeError) as error:
            dtype = self._file.get_slice(key).get_dtype()
            raise CheckpointError(
                f"The weight {key!r} has the dtype {dtype}, which cannot be read. Save it as "
                f"float32, float16 or bfloat16. Received: file={str(self._path)!r}."
            ) from error

    def close(self) -> None:
        self._file.__exit__(None, None, None)


def _from_one_file(path: Path, open_file: Callable[[Path], _WeightFile]) -> WeightFiles:
    _refuse_git_lfs_pointer(path)
    file = open_file(path)
    return WeightFiles({path: file}, dict.fromkeys(file.shapes, path))


def _from_shards(index: Path, open_file: Callable[[Path], _WeightFile]) -> WeightFiles:
    weight_map = _read_index(index)
    shards = [index.parent / name for name in sorted(set(weight_map.values()))]
    missing = [shard.name for shard in shards if not shard.is_file()]
    if missing:
        raise CheckpointError(
            f"{len(missing)} of the {len(shards)} files that the index names are missing: "
            f"{', '.join(missing[:5])}. Download the checkpoint again. Received: "
            f"index={str(index)!r}."
        )
    for shard in shards:
        _refuse_git_lfs_pointer(shard)
    files = {shard: open_file(shard) for shard in shards}
    paths = {key: shard for shard, file in files.items() for key in file.shapes}
    for key, name in weight_map.items():
        if key not in files[index.parent / name].shapes:
            raise CheckpointError(
                f"The shard {name} lacks the weight {key!r} that its index puts there. Download "
                f"the checkpoint again. Received: index={str(index)!r}."
            )
        paths[key] = index.parent / name
    return WeightFiles(files, paths)


def _refuse_git_lfs_pointer(path: Path) -> None:
    with open(path, "rb") as file:
        if file.read(32).startswith(b"version https://git-lfs"):
            raise CheckpointError(
                "This file is a Git LFS pointer, not the weights themselves. Run `git lfs pull` in "
                f"its folder, or download it again. Received: file={str(path)!r}."
            )


def _read_index(path: Path) -> dict[str, str]:
    """The names of the shards by key. A shard is a plain file name: an index leads nowhere else."""
    try:
        weight_map = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        plain = all(Path(name).name == name for name in weight_map.values())
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise _bad_index(path) from error
    if not weight_map or not plain:
        raise _bad_index(path)
    return weight_map


def _bad_index(path: Path) -> CheckpointError:
    return CheckpointError(
        "This index of shards has no `weight_map` from keys to file names in its own folder. "
        f"Download it again. Received: file={str(path)!r}."
    )
