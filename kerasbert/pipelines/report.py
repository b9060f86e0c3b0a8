"""Reports that compare models: one table, the same printed and in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """One model of a report.

    Args:
        name: What the table calls it.
        accuracy: Share of the evaluation examples that it labels correctly, from 0 to 1.
        parameters: Number of its parameters.
        bytes: Size of its file, or of all files of its preset folder.
        latency_ms: Median milliseconds for one text.
        file: Name of its file or folder.
    """

    name: str
    accuracy: float
    parameters: int
    bytes: int
    latency_ms: float
    file: str


_COLUMNS = ("model", "accuracy", "parameters", "size (MB)", "latency (ms)", "file")


def table(rows: Sequence[Row]) -> str:
    """A Markdown table with aligned columns, which reads well in a terminal too.

    Args:
        rows: The models, in order.

    Returns:
        The table's lines, without a line break at the end.

    Example:

    >>> print(table([Row("student", 0.9286, 17_300_000, 69_400_000, 4.312, "student/")]))
    | model   | accuracy | parameters | size (MB) | latency (ms) | file     |
    |:--------|---------:|-----------:|----------:|-------------:|:---------|
    | student |   92.9 % | 17,300,000 |      69.4 |         4.31 | student/ |
    """
    cells = [_COLUMNS, *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    is_text = [name in ("model", "file") for name in _COLUMNS]

    def line(values: Sequence[str]) -> str:
        padded = (
            value.ljust(width) if left else value.rjust(width)
            for value, width, left in zip(values, widths, is_text, strict=True)
        )
        return f"| {' | '.join(padded)} |"

    rules = (
        f":{'-' * (width + 1)}" if left else f"{'-' * (width + 1)}:"
        for width, left in zip(widths, is_text, strict=True)
    )
    return "\n".join([line(cells[0]), f"|{'|'.join(rules)}|", *map(line, cells[1:])])


def _cells(row: Row) -> tuple[str, ...]:
    return (
        row.name,
        f"{row.accuracy:.1%}".replace("%", " %"),
        f"{row.parameters:,}",
        f"{row.bytes / 1e6:.1f}",
        f"{row.latency_ms:.2f}",
        row.file,
    )


def markdown_report(
    title: str,
    rows: Sequence[Row],
    conclusion: str,
    facts: Mapping[str, str],
    picture: str | None = None,
) -> str:
    """A whole report in Markdown.

    Args:
        title: The heading.
        rows: The models.
        conclusion: What follows from the table, in a sentence or two.
        facts: Name to text of everything else that a reader needs to judge the numbers.
        picture: Name of the picture's file beside the report; None (default) for no picture.

    Returns:
        The text, ending in a line break.
    """
    parts = [f"# {title}", table(rows), conclusion]
    if picture:
        parts.append(f"![Accuracy, size and latency of the models]({picture})")
    parts.append("\n".join(f"- {name}: {text}" for name, text in facts.items()))
    return "\n\n".join(parts) + "\n"
