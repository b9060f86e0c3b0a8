"""Writing files so that an error, a full disk or Ctrl-C never leaves a half-written one."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from typing import IO


class UnwritableFolderError(OSError):
    """A folder, or a place in it, cannot be written to. The message names it and the remedy."""


def ensure_writable_folder(path: str | os.PathLike) -> Path:
    """Creates `path` where it is missing and proves that files can be written in it.

    Long jobs ask this before they start, so that they do not fail at their last line.

    Args:
        path: The folder. Missing parents are created too.

    Returns:
        The folder, as an absolute `Path` with links resolved.

    Raises:
        UnwritableFolderError: An `OSError`: the folder cannot be created or written to.

    Example:

    >>> import tempfile
    >>> ensure_writable_folder(tempfile.mkdtemp() + "/results/run_1").is_dir()
    True
    """
    folder = Path(os.path.realpath(path))
    probe = _temporary_sibling(folder / "probe")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe.touch(exist_ok=False)
        probe.unlink()
    except OSError as error:
        raise UnwritableFolderError(
            f"Cannot write in this folder ({error.strerror or error}). Choose another folder, free "
            f"some space or change the permissions. Received: folder={str(path)!r}."
        ) from error
    return folder


@contextmanager
def atomic_write(path: str | os.PathLike, mode: str = "wb") -> Iterator[IO]:
    """Opens a file that takes its name only when the block ends without an error.

    Args:
        path: The file to write. An existing one is replaced; missing parent folders are created.
        mode: `"wb"` for bytes (default) or `"w"` for text, which is UTF-8 with newlines as written.

    Yields:
        An open file object on a temporary name in the same folder.

    Raises:
        ValueError: `mode` is something else.
        UnwritableFolderError: An `OSError`, raised before the block runs: nothing can be written
            there.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "labels.txt"
    >>> with atomic_write(path, "w") as file:
    ...     _ = file.write("alarm")
    >>> path.read_text()
    'alarm'
    """
    if mode not in ("wb", "w"):
        raise ValueError(f'`mode` must be "wb" or "w". Received: mode={mode!r}.')
    text_options = {"encoding": "utf-8", "newline": ""} if mode == "w" else {}
    with atomic_path(path) as temporary, open(temporary, mode, **text_options) as file:
        yield file


@contextmanager
def atomic_path(path: str | os.PathLike) -> Iterator[Path]:
    """Like `atomic_write`, for libraries that want the name of a file instead of an open one.

    Args:
        path: The file to write. An existing one is replaced; missing parent folders are created.

    Yields:
        A temporary `Path` in the same folder and with the same suffix. The block must write it.

    Raises:
        UnwritableFolderError: An `OSError`, raised before the block runs: nothing can be written
            there.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "ids.bin"
    >>> with atomic_path(path) as temporary:
    ...     _ = temporary.write_bytes(bytes([1, 2]))
    >>> path.read_bytes()
    b'\\x01\\x02'
    """
    # Links are followed: what they point to is replaced, not the link.
    target = Path(os.path.realpath(path))
    ensure_writable_folder(target.parent)
    if target.exists() and not target.is_file():
        raise UnwritableFolderError(
            "A file cannot be written here: something that is not a file has its name. "
            f"Choose another name. Received: path={str(path)!r}."
        )
    temporary = _temporary_sibling(target)
    try:
        yield temporary
        _flush_to_disk(temporary)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def atomic_folder(path: str | os.PathLike) -> Iterator[Path]:
    """Gives a temporary folder whose files move to `path` when the block ends without an error.

    A new folder appears as a whole. In an existing folder, files of the same name are replaced one
    by one and all others stay.

    Args:
        path: The folder to write. Missing parent folders are created.

    Yields:
        An empty temporary folder beside `path`, as a `Path`.

    Raises:
        UnwritableFolderError: An `OSError`: nothing can be written there (raised before the block
            runs), or a file and a folder have the same name (raised before anything moves).

    Example:

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "preset"
    >>> with atomic_folder(folder) as temporary:
    ...     _ = (temporary / "config.json").write_text("{}")
    >>> [file.name for file in folder.iterdir()]
    ['config.json']
    """
    target = Path(os.path.realpath(path))
    ensure_writable_folder(target.parent)
    if target.exists():
        ensure_writable_folder(target)
    temporary = _temporary_sibling(target)
    temporary.mkdir()
    try:
        yield temporary
        _move_files(temporary, target)
    finally:
        rmtree(temporary, ignore_errors=True)


def _move_files(source: Path, target: Path) -> None:
    files = sorted(file for file in source.rglob("*") if file.is_file())
    for file in files:
        _flush_to_disk(file)
    if not target.exists():
        os.replace(source, target)
        return
    moves = [(file, target / file.relative_to(source)) for file in files]
    for _, destination in moves:
        _check_no_name_clash(destination, target)
    for file, destination in moves:
        destination.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file, destination)


def _check_no_name_clash(destination: Path, target: Path) -> None:
    folders_between = destination.relative_to(target).parents
    blocking = [target / name for name in folders_between if (target / name).is_file()]
    if destination.is_dir():
        blocking.append(destination)
    if blocking:
        raise UnwritableFolderError(
            "A file and a folder would have the same name, so nothing was written. Move the one "
            f"that is there away, or choose another folder. Received: path={str(blocking[0])!r}."
        )


def _temporary_sibling(target: Path) -> Path:
    """A free name beside `target`: renaming is atomic only inside one file system."""
    # Long names are cut, so that the temporary one stays within the file system's limit.
    return target.with_name(f".{target.stem[:32]}-{uuid.uuid4().hex[:12]}{target.suffix}")


def _flush_to_disk(file: Path) -> None:
    # Without it, a crash of the machine after the renaming can leave an empty file.
    with open(file, "rb+") as opened:
        os.fsync(opened.fileno())
