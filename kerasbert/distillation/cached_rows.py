"""Rows of numbers on disk, found by keys: parts that are written once and mapped into memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kerasbert.data.files import atomic_folder

KEY_BYTES = 16


@dataclasses.dataclass(frozen=True)
class Column:
    """What is kept of each row.

    Args:
        name: of the file.
        token_axes: how many axes of a row are as long as it has tokens; they come first.
        shape: the axes after these.
        fill: what stands at padding when rows are read.
    """

    name: str
    token_axes: int
    shape: tuple[int, ...]
    fill: float = 0.0


class CachedRows:
    """Rows found by their keys, in a folder.

    Each call of `add` writes a part, a folder that gets its name when it is whole: others may read
    meanwhile, and a process that is killed loses only the part that it was writing.

    Args:
        folder: the folder; parts that it has are opened.
        columns: what is kept of each row.
        dtype: `"float32"` or `"float16"`, on disk.
    """

    def __init__(self, folder: Path, columns: Sequence[Column], dtype: str):
        self._folder, self._columns, self._dtype = folder, tuple(columns), dtype
        self._parts: list[_Part] = []
        self._places: dict[bytes, tuple[int, int]] = {}
        self._opened: set[str] = set()
        self.refresh()

    def __contains__(self, key: bytes) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def refresh(self) -> None:
        """Open the parts that were written since."""
        for path in sorted(self._folder.glob("part-*")):
            if path.name not in self._opened:
                self._open(path)

    def add(self, keys: Sequence[bytes], lengths: np.ndarray, columns: Mapping[str, list]) -> None:
        """Write rows.

        Args:
            keys: one for each row.
            lengths: int array (n,), the rows' numbers of tokens.
            columns: by name, an array for each row, without padding.
        """
        path = self._folder / f"part-{len(self._opened):05d}-{keys[0].hex()[:8]}"
        with atomic_folder(path) as part:
            as_bytes = np.frombuffer(b"".join(keys), np.uint8)
            np.save(part / "keys.npy", as_bytes.reshape(-1, KEY_BYTES))
            np.save(part / "lengths.npy", np.asarray(lengths, np.int32))
            for column in self._columns:
                flat = [row.reshape(-1, *column.shape) for row in columns[column.name]]
                np.save(part / f"{column.name}.npy", np.concatenate(flat).astype(self._dtype))
        self._open(path)

    def read(self, keys: Sequence[bytes | None], width: int) -> dict[str, np.ndarray]:
        """Rows side by side, filled up to `width` tokens.

        Args:
            keys: those of the rows; `None` for an empty row.
            width: at least the longest row's tokens.

        Returns:
            By column, float32 arrays (n, *token axes, *shape).
        """
        arrays = {
            column.name: np.full(
                (len(keys), *(width,) * column.token_axes, *column.shape), column.fill, np.float32
            )
            for column in self._columns
        }
        for at, key in enumerate(keys):
            if key is None:
                continue
            part, row = self._places[key]
            for column in self._columns:
                values = self._parts[part].row(column, row)
                box = (at, *map(slice, values.shape[: column.token_axes]))
                arrays[column.name][box] = values
        return arrays

    def _open(self, path: Path) -> None:
        part = _Part(path, self._columns)
        for row, key in enumerate(part.keys):
            self._places.setdefault(key, (len(self._parts), row))
        self._parts.append(part)
        self._opened.add(path.name)


class _Part:
    def __init__(self, path: Path, columns: Sequence[Column]):
        try:
            keys = np.load(path / "keys.npy")
            self.keys = [key.tobytes() for key in keys]
            self._lengths = np.load(path / "lengths.npy").astype(np.int64)
            self._values = {
                column.name: np.load(path / f"{column.name}.npy", mmap_mode="r")
                for column in columns
            }
        except (OSError, ValueError, EOFError) as error:
            raise ValueError(
                "A part of the cache cannot be read; delete it, and its rows are computed again. "
                f"Received: {str(path)!r} ({error})."
            ) from error
        self._starts = {}
        for axes in {column.token_axes for column in columns}:
            counts = self._lengths**axes
            self._starts[axes] = np.cumsum(counts) - counts
        for column in columns:
            total = int((self._lengths**column.token_axes).sum())
            if len(self._values[column.name]) != total or len(keys) != len(self._lengths):
                raise ValueError(
                    "A part of the cache is not whole; delete it, and its rows are computed again. "
                    f"Received: {str(path / column.name)!r} with {len(self._values[column.name])} "
                    f"values of {total}."
                )

    def row(self, column: Column, row: int) -> np.ndarray:
        length = int(self._lengths[row])
        start = self._starts[column.token_axes][row]
        values = self._values[column.name][start : start + length**column.token_axes]
        return values.reshape(*(length,) * column.token_axes, *column.shape)
