"""Large JSON documents, of which only one element at a time is held in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from kerasbert.data.lines import check_decoded, malformed, open_text

_SPACES = " \t\n\r"


def stream_array(path: Path, name: str, block: int = 1 << 16) -> Iterator[tuple[int, Any]]:
    """Yields the elements of the array `name` of the JSON object that a file holds.

    Args:
        path: The file, UTF-8.
        name: A field of the outermost object.
        block: How many characters are read at once, if more are not needed for one element.

    Yields:
        The line on which an element starts, and the element.

    Raises:
        ValueError: The file is not UTF-8 or not JSON, or has no such array.
    """
    with open_text(path) as file:
        document = _Document(path, file, block)
        document.take("{")
        is_found = False
        separator = "}" if document.peek() == "}" else ","
        while separator == ",":
            key = document.value()
            document.take(":")
            if key == name:
                is_found = True
                yield from document.elements()
            else:
                document.value()
            separator = document.take(",}")
        if not is_found:
            raise malformed(path, 1, f"begins an object without the field {name!r}", "Add it")


class _Document:
    """A JSON text and a place in it."""

    def __init__(self, path: Path, file: IO[str], block: int):
        self._path, self._file, self._block = path, file, block
        self._text, self._at, self._line = "", 0, 1  # of the line on which `_text` begins
        self._is_read = False
        self._decoder = json.JSONDecoder()
        self._read_on()
        self._text = self._text.removeprefix("\ufeff")

    @property
    def line(self) -> int:
        return self._line + self._text.count("\n", 0, self._at)

    def peek(self) -> str:
        """The next character that is no space, which stays there; "" at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACES:
                    return self._text[self._at]
                self._at += 1
            if self._is_read:
                return ""
            self._read_on()

    def take(self, allowed: str) -> str:
        """The next character, which must be one of `allowed`."""
        found = self.peek()
        if not found or found not in allowed:
            wanted = " or ".join(map(repr, allowed))
            found = repr(found) if found else "the end of the file"
            self._refuse(f"{wanted} must stand here, not {found}", self.line)
        self._at += 1
        return found

    def value(self) -> Any:
        """The next value."""
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                if self._is_read:
                    line = self._line + self._text.count("\n", 0, error.pos)
                    self._refuse(error.msg, line)
            else:
                # A number at the end of the block may go on in the next.
                if end < len(self._text) or self._is_read:
                    self._at = end
                    return value
            self._read_on()

    def elements(self) -> Iterator[tuple[int, Any]]:
        """Line and value of each element of the array that comes next."""
        self.take("[")
        if self.peek() == "]":
            self.take("]")
            return
        separator = ","
        while separator == ",":
            self.peek()
            line = self.line
            yield line, self.value()
            separator = self.take(",]")

    def _read_on(self):
        self._line, self._text, self._at = self.line, self._text[self._at :], 0
        # As much again as is there, so that a long element is not tried too often.
        more = self._file.read(max(self._block, len(self._text)))
        check_decoded(more, self._path, self._line + self._text.count("\n"))
        self._text += more
        self._is_read = not more

    def _refuse(self, problem: str, line: int):
        raise malformed(
            self._path, line, f"is not valid JSON ({problem})", "Mend it, or write the file anew"
        )
