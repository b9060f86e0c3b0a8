"""Files of a training run's state: numbered, written as a whole, checked when they are read."""

from __future__ import annotations

import contextlib
import json
import warnings
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kerasbert.data.files import atomic_write, ensure_writable_folder

# Two: the one before is there while the newest is written, and if the newest is damaged.
_KEPT = 2
_FORMAT = 1
_ARRAY, _DTYPE = "__array__", "dtype"


class StateFiles:
    """The states of one training run, in a folder of their own.

    A state is a dict of numbers, strings, `None`, NumPy arrays, lists and dicts of these. It
    becomes one `.npz` file: what is not an array as JSON, each array once, however often it occurs.
    """

    def __init__(self, folder: Path):
        self._folder = folder

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes out, for as long as this one lives or the `with` block lasts.

        Raises:
            ValueError: if another process is in.
            UnwritableFolderError: an `OSError`, if nothing can be written in the folder.
        """
        ensure_writable_folder(self._folder)
        with open(self._folder / "lock", "w") as file:
            _lock(file, self._folder)
            for left_over in self._folder.glob(".state_*.npz"):  # of a process that was killed
                left_over.unlink()
            yield

    def states(self) -> Iterator[dict[str, Any]]:
        """The states, newest first, with a warning for each that cannot be read.

        Raises:
            ValueError: if there are files, and none can be read.
        """
        paths = self._paths()
        failed = []
        for path in reversed(paths):
            try:
                state = _read(path)
            except Exception as error:  # whatever a damaged file makes its reader raise
                failed.append(path.name)
                warnings.warn(
                    f"{path} is damaged and was passed over, for the state before it: {error}",
                    stacklevel=2,
                )
                continue
            yield state
        if paths and len(failed) == len(paths):
            raise ValueError(
                "No state of this run can be read. Delete the folder to begin anew. "
                f"Received: folder={str(self._folder)!r} with {sorted(failed)}."
            )

    def write(self, state: Mapping[str, Any]) -> None:
        """Write the next state, and delete all but the last two."""
        paths = self._paths()
        number = int(paths[-1].stem.removeprefix("state_")) + 1 if paths else 1
        arrays = _Arrays()
        text = json.dumps({"format": _FORMAT, "state": arrays.lift(state)})
        with atomic_write(self._folder / f"state_{number:08d}.npz") as file:
            np.savez(file, state=np.frombuffer(text.encode(), np.uint8), **arrays.by_name)
        for path in self._paths()[:-_KEPT]:
            path.unlink()

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("state_*.npz"))


class _Arrays:
    """Takes the arrays out of a structure, each of equal ones once."""

    def __init__(self):
        self.by_name: dict[str, np.ndarray] = {}
        self._names: dict[tuple, str] = {}

    def lift(self, value: Any) -> Any:
        """The structure with references in the place of arrays."""
        if isinstance(value, np.ndarray):
            return {_ARRAY: self._name(value), _DTYPE: value.dtype.name}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, Mapping):
            return {name: self.lift(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self.lift(each) for each in value]
        return value

    def _name(self, array: np.ndarray) -> str:
        if array.dtype.kind == "V":  # bfloat16 and the like, which NumPy's files do not know
            array = array.view(f"u{array.dtype.itemsize}")
        key = (array.dtype.str, array.shape, zlib.crc32(np.ascontiguousarray(array)))
        name = self._names.setdefault(key, f"array_{len(self.by_name)}")
        if not np.array_equal(self.by_name.setdefault(name, array), array, equal_nan=False):
            name = f"array_{len(self.by_name)}"  # another one with the same checksum
            self.by_name[name] = array
        return name


def _read(path: Path) -> dict[str, Any]:
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    content = json.loads(arrays["state"].tobytes())
    if content["format"] != _FORMAT:
        raise ValueError(f"its format is {content['format']}, known is {_FORMAT}")
    return _put_back(content["state"], arrays)


def _put_back(value: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    if isinstance(value, list):
        return [_put_back(each, arrays) for each in value]
    if not isinstance(value, dict):
        return value
    if _ARRAY in value:
        return arrays[value[_ARRAY]].view(np.dtype(value[_DTYPE]))
    return {name: _put_back(each, arrays) for name, each in value.items()}


def _lock(file, folder: Path) -> None:
    try:
        import fcntl
    except ImportError:  # Windows: without protection
        return
    try:
        # Of the process, not of the open file: children do not inherit it and keep it.
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise ValueError(
            "Another process trains with this folder. Wait for it, end it, or give each run a "
            f"folder of its own. Received: folder={str(folder)!r}."
        ) from error
