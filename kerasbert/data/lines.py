"""Lines of text files, with the numbers by which errors name them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO


def existing_file(path: str | os.PathLike, kind: str) -> Path:
    """The path, if there is such a file.

    Args:
        path: The file.
        kind: What errors call it, such as "CSV".

    Raises:
        FileNotFoundError: There is none.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no such {kind} file. Check its path. Received: path={str(path)!r}."
        )
    return path


def malformed(path: Path, line: int, problem: str, remedy: str) -> ValueError:
    """The error for a record that cannot be read.

    Args:
        path: The file.
        line: Number of the line on which the record starts, from 1.
        problem: What is wrong with it, to be read after "Line 7 ".
        remedy: What to do.
    """
    return ValueError(f"Line {line} {problem}. {remedy}. Received: path={str(path)!r}.")


def open_text(path: Path) -> IO[str]:
    """Opens a UTF-8 file whose bytes that are not UTF-8 are left for `check_decoded` to find.

    (Python's own error would come for a whole block of the file, before its good lines.)
    """
    return open(path, encoding="utf-8", errors="surrogateescape", newline="")


def check_decoded(text: str, path: Path, line: int) -> None:
    """Refuses text of `open_text` that was not UTF-8.

    Args:
        text: A part of the file.
        path: The file.
        line: Number of the line on which the part starts.

    Raises:
        ValueError: It names the line and what stands before the first wrong byte.
    """
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        before = text[: error.start]
        raise malformed(
            path,
            line + before.count("\n"),
            f"is not UTF-8 after {before.rpartition(chr(10))[2][-30:]!r}",
            "Save the file as UTF-8",
        ) from None


def decoded_lines(path: Path) -> Iterator[str]:
    """Yields the lines of a UTF-8 file with their ends, without a byte order mark.

    Raises:
        ValueError: A line is not UTF-8.
    """
    with open_text(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.isascii():
                check_decoded(line, path, number)
            yield line.removeprefix("\ufeff") if number == 1 else line


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yields number and text of each line that is not blank, without its end.

    Raises:
        ValueError: A line is not UTF-8.
    """
    for number, line in enumerate(decoded_lines(path), start=1):
        if line.strip():
            yield number, line.rstrip("\r\n")
