"""Labelled texts from CSV files, and the small data set that comes with the package."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from pathlib import Path


@dataclass(frozen=True)
class LabelledTexts:
    """Texts (or pairs of texts) with one label each.

    Args:
        texts: One string per example.
        labels: One string per example.
        text_pairs: The second text of every example, or `None` (default) for single texts.
    """

    texts: list[str]
    labels: list[str]
    text_pairs: list[str] | None = None

    def inputs(self) -> list[str] | dict[str, list[str]]:
        """What a `TextClassifier` takes: the list of texts, or a dict `text`, `text_pair`."""
        if self.text_pairs is None:
            return self.texts
        return {"text": self.texts, "text_pair": self.text_pairs}

    def __len__(self) -> int:
        return len(self.texts)


def read_csv(
    path: str | os.PathLike,
    text_column: str = "text",
    label_column: str = "label",
    pair_column: str = "text_pair",
) -> LabelledTexts:
    """Reads a CSV file of labelled texts.

    The file is UTF-8 (a byte order mark is accepted), has a header, commas between fields, and
    quotes around fields that hold commas, quotes or line breaks. Blank lines are skipped, other
    columns are ignored. Texts are kept as they are and may be empty; spaces around labels go.

    Args:
        path: The file.
        text_column: Name of the column of texts. Defaults to `"text"`.
        label_column: Name of the column of labels. Defaults to `"label"`.
        pair_column: Name of the column of second texts, used only if the file has it. Defaults to
            `"text_pair"`.

    Returns:
        The examples in the file's order.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not UTF-8, has no header, lacks a column, has no rows, or has a row
            with the wrong number of fields or without a label. The message has the line number.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.csv"
    >>> _ = path.write_text("text,label\\nwake me at six,alarm\\n")
    >>> read_csv(path)
    LabelledTexts(texts=['wake me at six'], labels=['alarm'], text_pairs=None)
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no such CSV file. Check its path. Received: path={str(path)!r}."
        )
    return _parse(path.read_bytes(), str(path), text_column, label_column, pair_column)


def load_sample(split: str = "train") -> LabelledTexts:
    """Loads the data set that comes with the package: spoken requests to a phone, by intent.

    Args:
        split: `"train"` (default) or `"test"`.

    Returns:
        Single texts with their intents as labels.

    Raises:
        ValueError: There is no such split.

    Example:

    >>> len(load_sample("train")) > len(load_sample("test"))
    True
    """
    if split not in ("train", "test"):
        raise ValueError(f'`split` must be "train" or "test". Received: split={split!r}.')
    file = resources.files("kerasbert.data").joinpath("sample", f"{split}.csv")
    return _parse(file.read_bytes(), f"sample/{split}.csv", "text", "label", "text_pair")


def _parse(
    content: bytes, path: str, text_column: str, label_column: str, pair_column: str
) -> LabelledTexts:
    rows = _rows(_decode(content, path), path)
    _, header = next(rows, (1, []))
    header = [name.strip() for name in header]
    text_at = _column(header, text_column, "--text-column", path)
    label_at = _column(header, label_column, "--label-column", path)
    texts, labels, pairs = [], [], []
    for line, row in rows:
        if len(row) != len(header):
            raise ValueError(
                f"Line {line} has {len(row)} fields, the header has {len(header)}. Put quotes "
                f"around a text that holds a comma. Received: path={path!r}."
            )
        label = row[label_at].strip()
        if not label:
            raise ValueError(
                f"Line {line} has no label. Give it one, or remove the line. Received: "
                f"path={path!r}, label_column={label_column!r}."
            )
        texts.append(row[text_at])
        labels.append(label)
        if pair_column in header:
            pairs.append(row[header.index(pair_column)])
    if not texts:
        raise ValueError(
            f"The file has a header but no rows. Add examples. Received: path={path!r}."
        )
    return LabelledTexts(texts, labels, pairs if pair_column in header else None)


def _decode(content: bytes, path: str) -> str:
    try:
        return content.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"The file is not UTF-8: byte {error.start} does not fit. Save it as UTF-8. Received: "
            f"path={path!r}."
        ) from error


def _rows(text: str, path: str) -> Iterator[tuple[int, list[str]]]:
    """Yields rows with the number of the line on which each starts: quoted fields have several."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    start = 1
    try:
        for row in reader:
            if row:
                yield start, row
            start = reader.line_num + 1
    except csv.Error as error:
        raise ValueError(
            f"The row that starts on line {start} is not valid CSV ({error}). Close every quote, "
            f"and double the quotes inside quoted fields. Received: path={path!r}."
        ) from error


def _column(header: list[str], name: str, option: str, path: str) -> int:
    if not header:
        raise ValueError(
            f"The file is empty. Its first line must name the columns. Received: path={path!r}."
        )
    if header.count(name) != 1:
        problem = "no column" if name not in header else "more than one column"
        raise ValueError(
            f"The file has {problem} {name!r}. Its columns, which commas must separate, are "
            f"{header}; name another one with {option} (in Python: "
            f"{option[2:].replace('-', '_')}=...). Received: path={path!r}."
        )
    return header.index(name)
