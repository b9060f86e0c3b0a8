"""Labelled texts from files with one JSON object on each line."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from kerasbert.data.labelled_texts import LabelledTexts
from kerasbert.data.lines import existing_file, malformed, numbered_lines
from kerasbert.data.streams import ExampleStream


def read_json_lines(
    path: str | os.PathLike, text: str = "text", label: str = "label", text_pair: str = "text_pair"
) -> LabelledTexts:
    """Reads a file of JSON objects, one on each line, that have a text and a label.

    A label is a string, a number, or (for several classes at once) a list of these; all labels of a
    file are of one kind. Other fields are ignored, blank lines skipped.

    Args:
        path: The file, UTF-8.
        text: Name of the field of texts. Defaults to `"text"`.
        label: Name of the field of labels. Defaults to `"label"`.
        text_pair: Name of the field of second texts, used only if the first object has it, and then
            in all. Defaults to `"text_pair"`.

    Returns:
        The examples in the file's order.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The file has no objects; or a line is not UTF-8, is no JSON object, lacks a
            field, or has a text or label of another kind. The message has its number.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.jsonl"
    >>> _ = path.write_text('{"text": "wake me at six", "label": ["alarm", "speech"]}')
    >>> read_json_lines(path)
    LabelledTexts(texts=['wake me at six'], labels=[['alarm', 'speech']], text_pairs=None)
    """
    return LabelledTexts.of(stream_json_lines(path, text, label, text_pair))


def stream_json_lines(
    path: str | os.PathLike, text: str = "text", label: str = "label", text_pair: str = "text_pair"
) -> ExampleStream:
    """Reads a file of JSON objects while it is used, as `read_json_lines` does at once.

    Args:
        path: The file.
        text: As for `read_json_lines`.
        label: As for `read_json_lines`.
        text_pair: As for `read_json_lines`.

    Returns:
        An iterable of dicts `text`, `label`, and `text_pair` if there are such. Each pass opens the
        file anew.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_json_lines`, when a pass reaches the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.jsonl"
    >>> _ = path.write_text('{"body": "wake me at six", "stars": 4.5}')
    >>> list(stream_json_lines(path, text="body", label="stars"))
    [{'text': 'wake me at six', 'label': 4.5}]
    """
    path = existing_file(path, "JSON lines")
    return ExampleStream(path, partial(_examples, path, text, label, text_pair))


def _examples(path: Path, text: str, label: str, text_pair: str) -> Iterator[dict[str, Any]]:
    texts, kind = None, None
    for line, content in numbered_lines(path):
        record = _object(content, path, line)
        if texts is None:
            texts = {"text": text, **({"text_pair": text_pair} if text_pair in record else {})}
        example = {}
        for field, name in texts.items():
            example[field] = record.get(name)
            if not isinstance(example[field], str):
                _refuse_field(record, name, "a string", path, line)
        example["label"] = record.get(label)
        kind = kind or _kind(example["label"])
        if kind is None or _kind(example["label"]) != kind:
            known = kind or "a string, a number or a list of these"
            _refuse_field(record, label, known, path, line)
        yield example


def _object(content: str, path: Path, line: int) -> dict[str, Any]:
    try:
        record = json.loads(content)
    except json.JSONDecodeError as error:
        problem = f"is not valid JSON ({error.msg} at character {error.pos + 1})"
        raise malformed(path, line, problem, "Put one whole object on each line") from None
    if not isinstance(record, dict):
        raise malformed(path, line, "is no JSON object", "Put one object on each line")
    return record


def _kind(label: Any) -> str | None:
    """What a label is; `None` for what is no label."""
    if isinstance(label, str):
        return "a string" if label else None
    if isinstance(label, int | float):
        return "a number" if math.isfinite(label) else None
    if isinstance(label, list):
        are_labels = all(_kind(each) in ("a string", "a number") for each in label)
        return "a list of strings or numbers" if are_labels else None
    return None


def _refuse_field(record: dict[str, Any], name: str, wanted: str, path: Path, line: int):
    if name in record:
        problem = f"has in its field {name!r} {record[name]!r}, where {wanted} must be"
    else:
        problem = f"has no field {name!r}, only {sorted(record)}"
    raise malformed(path, line, problem, "Mend it, or give the fields' right names")
