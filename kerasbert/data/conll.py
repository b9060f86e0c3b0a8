"""Tagged sentences from files with one word on each line, as in the CoNLL shared tasks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kerasbert.data.lines import decoded_lines, existing_file, malformed
from kerasbert.data.streams import ExampleStream
from kerasbert.data.tables import check_width
from kerasbert.metrics.entities import OUTSIDE, spans, split_tag

_DOCUMENT_START = "-DOCSTART-"
_LENIENTLY = "Mend the tags, or read them as they are with `scheme=None`"


@dataclass(frozen=True)
class TaggedSentences:
    """Sentences as words with one tag each.

    Args:
        words: A list of strings per sentence.
        tags: A list of as many strings per sentence.
    """

    words: list[list[str]]
    tags: list[list[str]]

    def inputs(self) -> list[list[str]]:
        """What a `TokenClassifier` takes: the lists of words."""
        return self.words

    def targets(self) -> list[list[str]]:
        """The lists of tags."""
        return self.tags

    def labels(self) -> list[str]:
        """All tags that occur, sorted, "O" first: the `labels` of a `TokenClassifier`."""
        labels = {tag for tags in self.tags for tag in tags}
        return sorted(labels, key=lambda label: (label != OUTSIDE, label))

    def __len__(self) -> int:
        return len(self.words)


def read_conll(
    path: str | os.PathLike, columns: Sequence[int] = (0, -1), scheme: str | None = None
) -> TaggedSentences:
    """Reads sentences from a file with a word and its tags on each line.

    Columns are separated by tabs or by spaces; with tabs, words may have spaces in them. A blank
    line, be there spaces on it, or a line that begins with `-DOCSTART-` ends a sentence.

    Args:
        path: The file, UTF-8.
        columns: Indices of the columns of words and of tags, negative ones from the end. Defaults
            to `(0, -1)`: the first and the last.
        scheme: What tags must be: `"iob2"` or `"iobes"` refuses tags and sequences that the scheme
            does not have, such as I- without B-; `"iob1"` refuses unknown prefixes. `None`
            (default) takes tags as they are.

    Returns:
        The sentences in the file's order.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: `columns` or `scheme` is no such thing; the file has no sentences; or a line is
            not UTF-8, has another number of columns than the first or a tag that does not fit the
            scheme. The message has its number.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.conll"
    >>> _ = path.write_text("Anna B-PER\\nsleeps O\\n\\nParis B-LOC\\n")
    >>> data = read_conll(path)
    >>> data.inputs(), data.labels()
    ([['Anna', 'sleeps'], ['Paris']], ['O', 'B-LOC', 'B-PER'])
    """
    sentences = list(stream_conll(path, columns, scheme))
    return TaggedSentences(
        [sentence["tokens"] for sentence in sentences],
        [sentence["label"] for sentence in sentences],
    )


def stream_conll(
    path: str | os.PathLike, columns: Sequence[int] = (0, -1), scheme: str | None = None
) -> ExampleStream:
    """Reads tagged sentences while they are used, as `read_conll` does at once.

    Args:
        path: The file.
        columns: As for `read_conll`.
        scheme: As for `read_conll`.

    Returns:
        An iterable of dicts `tokens` (words) and `label` (tags). Each pass opens the file anew.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_conll`; of the file's contents when a pass reaches the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.conll"
    >>> _ = path.write_text("Anna NNP B-PER\\nsleeps VBZ O\\n")
    >>> list(stream_conll(path, columns=(0, 1)))
    [{'tokens': ['Anna', 'sleeps'], 'label': ['NNP', 'VBZ']}]
    """
    are_indices = len(columns) == 2 and all(type(column) is int for column in columns)
    if not are_indices or columns[0] == columns[1]:
        raise ValueError(
            "`columns` must be two different ints: the column of words and that of tags. "
            f"Received: columns={columns!r}."
        )
    if scheme is not None:
        split_tag(OUTSIDE, scheme)  # refuses unknown schemes
    path = existing_file(path, "CoNLL")
    return ExampleStream(path, partial(_examples, path, tuple(columns), scheme))


def _examples(path: Path, columns: tuple[int, int], scheme: str | None) -> Iterator[dict]:
    for lines, rows in _sentences(path, columns):
        words, tags = ([row[column] for row in rows] for column in columns)
        for name, values in (("word", words), ("tag", tags)):
            if "" in values:
                problem = f"has an empty {name}"
                raise malformed(path, lines[values.index("")], problem, "Fill it in")
        if scheme is not None:
            _check_tags(tags, scheme, lines, path)
        yield {"tokens": words, "label": tags}


def _sentences(path: Path, columns: tuple[int, int]) -> Iterator[tuple[list[int], list]]:
    """Yields the rows of each sentence, with the numbers of their lines."""
    lines, rows, width = [], [], None
    for number, line in enumerate(decoded_lines(path), start=1):
        if not line.strip() or line.startswith(_DOCUMENT_START):
            if rows:
                yield lines, rows
            lines, rows = [], []
            continue
        line = line.rstrip(" \t\r\n")
        row = line.split("\t") if "\t" in line else line.split()
        if width is None:
            width = len(row)
            _check_columns(columns, width, path, number)
        check_width(row, width, path, number, "Give each word the same columns")
        lines.append(number)
        rows.append(row)
    if rows:
        yield lines, rows


def _check_columns(columns: tuple[int, int], width: int, path: Path, line: int):
    places = {column % width for column in columns if -width <= column < width}
    if len(places) < 2:
        raise malformed(
            path,
            line,
            f"has {width} columns, of which columns={columns} are not two",
            "Separate words from tags by tabs or spaces, or choose other columns",
        )


def _check_tags(tags: list[str], scheme: str, lines: list[int], path: Path):
    for tag, line in zip(tags, lines, strict=True):
        try:
            split_tag(tag, scheme)
        except ValueError:
            problem = f"has the tag {tag!r}, which the scheme {scheme!r} does not know"
            raise malformed(path, line, problem, _LENIENTLY) from None
    for span in spans(tags, scheme):
        if not span.is_well_formed:
            found = tags[span.start : span.end]
            problem = f"begins the entity {found}, which the scheme {scheme!r} does not allow"
            raise malformed(path, lines[span.start], problem, _LENIENTLY)
