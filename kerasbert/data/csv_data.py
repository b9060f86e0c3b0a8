"""Labelled texts from CSV files, and the small data set that comes with the package."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from importlib import resources
from pathlib import Path

from kerasbert.data.labelled_texts import LabelledTexts
from kerasbert.data.lines import existing_file, malformed
from kerasbert.data.streams import ExampleStream
from kerasbert.data.tables import check_width, column, csv_rows, read_header


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
    return LabelledTexts.of(stream_csv(path, text_column, label_column, pair_column))


def stream_csv(
    path: str | os.PathLike,
    text_column: str = "text",
    label_column: str = "label",
    pair_column: str = "text_pair",
) -> ExampleStream:
    """Reads a CSV file while it is used, as `read_csv` does at once.

    Args:
        path: The file.
        text_column: As for `read_csv`.
        label_column: As for `read_csv`.
        pair_column: As for `read_csv`.

    Returns:
        An iterable of dicts `text`, `label`, and `text_pair` if the file has such a column. A
        model's `fit` takes it. Each pass opens the file anew.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_csv`, when a pass reaches the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.csv"
    >>> _ = path.write_text("text,label\\nwake me at six,alarm\\n")
    >>> for example in stream_csv(path):
    ...     print(example)
    {'text': 'wake me at six', 'label': 'alarm'}
    """
    path = existing_file(path, "CSV")
    read = partial(_examples, path, text_column, label_column, pair_column)
    return ExampleStream(path, read, has_header=True)


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
    with resources.as_file(file) as path:
        return read_csv(path)


def _examples(
    path: Path, text_column: str, label_column: str, pair_column: str
) -> Iterator[dict[str, str]]:
    rows = csv_rows(path)
    header = read_header(rows, path)
    places = {
        "text": _column(header, text_column, "--text-column", path),
        "label": _column(header, label_column, "--label-column", path),
    }
    if pair_column in header:
        places["text_pair"] = _column(header, pair_column, "--pair-column", path)
    remedy = "Put quotes around a text that holds a comma"
    for line, row in rows:
        check_width(row, len(header), path, line, remedy)
        example = {name: row[at] for name, at in places.items()}
        example["label"] = example["label"].strip()
        if not example["label"]:
            problem = f"has no label in its column {label_column!r}"
            raise malformed(path, line, problem, "Give it one, or remove the line")
        yield example


def _column(header: list[str], name: str, option: str, path: Path) -> int:
    hint = f"name another one with {option} (in Python: {option[2:].replace('-', '_')}=...)"
    return column(header, name, path, "commas", hint)
