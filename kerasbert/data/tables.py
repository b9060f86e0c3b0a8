"""Rows of tables in text files, with the numbers of their lines."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

from kerasbert.data.lines import decoded_lines, malformed, numbered_lines

Rows = Iterator[tuple[int, list[str]]]


def csv_rows(path: Path) -> Rows:
    """Yields the rows of a CSV file, each with the line on which it starts: quoted fields have
    several.

    Raises:
        ValueError: The file is not UTF-8 or not CSV.
    """
    reader = csv.reader(decoded_lines(path), strict=True)
    start = 1
    try:
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        raise malformed(
            path,
            start,
            f"starts a row that is not valid CSV ({error})",
            "Close every quote, and double the quotes inside quoted fields",
        ) from error


def tab_rows(path: Path) -> Rows:
    """Yields the rows of a file of tab-separated fields, in which quotes do not quote.

    Raises:
        ValueError: The file is not UTF-8.
    """
    return ((number, line.split("\t")) for number, line in numbered_lines(path))


def read_header(rows: Rows, path: Path) -> list[str]:
    """Takes the names of the columns from the first row.

    Raises:
        ValueError: There is no row.
    """
    _, header = next(rows, (1, None))
    if header is None:
        raise ValueError(
            "The file is empty. Its first line must name the columns. "
            f"Received: path={str(path)!r}."
        )
    return [name.strip() for name in header]


def column(header: Sequence[str], name: str, path: Path, separator: str, hint: str) -> int:
    """The index of a column.

    Args:
        header: The names of all columns.
        name: Its name.
        path: The file.
        separator: What separates columns: "commas" or "tabs".
        hint: What to do if it is not there.

    Raises:
        ValueError: There is no such column, or more than one.
    """
    if header.count(name) != 1:
        problem = "no column" if name not in header else "more than one column"
        raise ValueError(
            f"The file has {problem} {name!r}. Its columns, which {separator} must separate, are "
            f"{list(header)}; {hint}. Received: path={str(path)!r}."
        )
    return header.index(name)


def check_width(row: Sequence[str], width: int, path: Path, line: int, remedy: str) -> None:
    """Refuses a row with another number of fields than the table has columns."""
    if len(row) != width:
        raise malformed(path, line, f"has {len(row)} fields, the table has {width} columns", remedy)
