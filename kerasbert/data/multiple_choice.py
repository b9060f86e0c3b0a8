"""Beginnings with several endings, one of them right: SWAG and CODAH."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from kerasbert.data.lines import existing_file, malformed
from kerasbert.data.streams import ExampleStream
from kerasbert.data.tables import check_width, column, csv_rows, read_header, tab_rows


@dataclass(frozen=True)
class MultipleChoiceQuestions:
    """Texts with several choices to continue each.

    Args:
        texts: One string per question.
        choices: A list of strings per question, all of one length.
        labels: The index of the right choice per question.
    """

    texts: list[str]
    choices: list[list[str]]
    labels: list[int]

    @classmethod
    def of(cls, examples: ExampleStream) -> MultipleChoiceQuestions:
        """Collects a stream of dicts `text`, `choices`, `label`."""
        rows = list(examples)
        return cls(*([row[name] for row in rows] for name in ("text", "choices", "label")))

    def inputs(self) -> dict[str, list]:
        """What `MultipleChoice` takes: a dict `text`, `choices`."""
        return {"text": self.texts, "choices": self.choices}

    def targets(self) -> list[int]:
        """The indices of the right choices."""
        return self.labels

    def __len__(self) -> int:
        return len(self.texts)


def read_swag(path: str | os.PathLike) -> MultipleChoiceQuestions:
    """Reads a CSV file of SWAG (Zellers et al., 2018, arXiv:1808.05326).

    The text is `sent1`; each choice is `sent2`, the beginning of the next sentence, and one of the
    endings.

    Args:
        path: The file, with the columns `sent1`, `sent2`, `ending0` and on, and `label`.

    Returns:
        The questions in the file's order.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not UTF-8 or not CSV, lacks a column or has no rows; or a row has
            the wrong number of fields, no ending or no right label. The message has its line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "val.csv"
    >>> _ = path.write_text("sent1,sent2,ending0,ending1,label\\nIt rains.,She,sings.,swims.,0\\n")
    >>> read_swag(path).inputs()
    {'text': ['It rains.'], 'choices': [['She sings.', 'She swims.']]}
    """
    return MultipleChoiceQuestions.of(stream_swag(path))


def stream_swag(path: str | os.PathLike) -> ExampleStream:
    """Reads a CSV file of SWAG while it is used, as `read_swag` does at once.

    Args:
        path: The file.

    Returns:
        An iterable of dicts `text`, `choices` and `label`. Each pass opens the file anew.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_swag`, when a pass reaches the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "val.csv"
    >>> _ = path.write_text("sent1,sent2,ending0,ending1,label\\nIt rains.,She,sings.,swims.,0\\n")
    >>> list(stream_swag(path))
    [{'text': 'It rains.', 'choices': ['She sings.', 'She swims.'], 'label': 0}]
    """
    path = existing_file(path, "CSV")
    return ExampleStream(path, partial(_swag_examples, path), has_header=True)


def read_codah(path: str | os.PathLike) -> MultipleChoiceQuestions:
    """Reads a file of CODAH (Chen et al., 2019, arXiv:1904.04365).

    Its fields are separated by tabs, and quotes are characters like others: category, prompt, the
    endings (four in CODAH; in other files all rows have as many as the first) and the index of the
    right one. A header is recognized by a first field longer than one letter and no number in
    the last.

    Args:
        path: The file.

    Returns:
        The questions in the file's order.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file is not UTF-8 or has no rows; or a row has the wrong number of fields,
            no ending or no right label. The message has its line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "dev.tsv"
    >>> _ = path.write_text("o\\tIt rains. She\\tsings.\\tswims.\\tflies.\\tswings.\\t0\\n")
    >>> data = read_codah(path)
    >>> data.texts, data.targets()
    (['It rains. She'], [0])
    """
    return MultipleChoiceQuestions.of(stream_codah(path))


def stream_codah(path: str | os.PathLike) -> ExampleStream:
    """Reads a file of CODAH while it is used, as `read_codah` does at once.

    Args:
        path: The file.

    Returns:
        An iterable of dicts `text`, `choices` and `label`. Each pass opens the file anew.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_codah`, when a pass reaches the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "dev.tsv"
    >>> _ = path.write_text("o\\tIt rains. She\\tsings.\\tswims.\\tflies.\\tswings.\\t0\\n")
    >>> len(next(iter(stream_codah(path)))["choices"])
    4
    """
    path = existing_file(path, "TSV")
    return ExampleStream(path, partial(_codah_examples, path))


def _swag_examples(path: Path) -> Iterator[dict[str, Any]]:
    rows = csv_rows(path)
    header = read_header(rows, path)
    count = sum(name.startswith("ending") and name[6:].isdecimal() for name in header)
    names = ["sent1", "sent2", "label", *(f"ending{index}" for index in range(max(count, 2)))]
    hint = "give a file in SWAG's layout"
    context, beginning, label, *endings = (
        column(header, name, path, "commas", hint) for name in names
    )
    for line, row in rows:
        check_width(row, len(header), path, line, "Put quotes around a text that holds a comma")
        example = _example(row[context], [row[at] for at in endings], row[label], path, line)
        if row[beginning]:
            example["choices"] = [f"{row[beginning]} {ending}" for ending in example["choices"]]
        yield example


def _codah_examples(path: Path) -> Iterator[dict[str, Any]]:
    width = None
    for line, row in tab_rows(path):
        if width is None:
            width = len(row)
            if width < 5:
                problem = f"has {width} fields, not a category, a prompt, endings and an index"
                raise malformed(path, line, problem, "Separate them by tabs")
            if len(row[0].strip()) > 1 and not any(map(str.isdecimal, row[-1])):
                continue  # a header
        check_width(row, width, path, line, "Give each prompt as many endings as the first")
        yield _example(row[1], row[2:-1], row[-1], path, line)


def _example(text: str, endings: list[str], label: str, path: Path, line: int) -> dict[str, Any]:
    label = label.strip()
    if not (label.isdecimal() and int(label) < len(endings)):
        problem = f"has the label {label!r}, which is not a number from 0 to {len(endings) - 1}"
        raise malformed(path, line, problem, "Give the index of the right ending")
    missing = [index for index, ending in enumerate(endings) if not ending.strip()]
    if missing:
        problem = f"has no ending {missing[0]}"
        raise malformed(path, line, problem, "Give all questions of a file as many endings")
    return {"text": text, "choices": endings, "label": int(label)}
