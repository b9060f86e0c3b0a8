"""The nine tasks of the GLUE benchmark, in the layouts of its own files.

Wang et al., 2018, arXiv:1804.07461.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from kerasbert.data.labelled_texts import LabelledTexts
from kerasbert.data.lines import existing_file, malformed
from kerasbert.data.streams import ExampleStream
from kerasbert.data.tables import check_width, column, read_header, tab_rows
from kerasbert.metrics.glue_scores import GLUE_LABELS, check_glue_task


class _Layout(NamedTuple):
    """The columns of a task's files."""

    text: str
    text_pair: str | None
    label: str
    labels_are_numbers: bool
    header: tuple[str, ...] | None = None  # of files that have none


_LAYOUTS = {
    "cola": _Layout(
        "sentence", None, "label", True, header=("source", "label", "author's mark", "sentence")
    ),
    "mnli": _Layout("sentence1", "sentence2", "gold_label", False),
    "mrpc": _Layout("#1 String", "#2 String", "Quality", True),
    "qnli": _Layout("question", "sentence", "label", False),
    "qqp": _Layout("question1", "question2", "is_duplicate", True),
    "rte": _Layout("sentence1", "sentence2", "label", False),
    "sst2": _Layout("sentence", None, "label", True),
    "stsb": _Layout("sentence1", "sentence2", "score", True),
    "wnli": _Layout("sentence1", "sentence2", "label", True),
}
_REMEDY = 'Mend the row, or leave it out with `on_malformed="skip"`'


def glue_labels(task: str) -> list[str] | None:
    """Names of a GLUE task's classes, by number; `None` for the similarity scores of `"stsb"`.

    Args:
        task: As for `read_glue`.

    Raises:
        ValueError: There is no such task.

    Example:

    >>> glue_labels("sst2")
    ['negative', 'positive']
    """
    check_glue_task(task)
    names = GLUE_LABELS[task]
    return None if names is None else list(names)


def read_glue(
    task: str, path: str | os.PathLike, labelled: bool = True, on_malformed: str = "error"
) -> LabelledTexts:
    """Reads a file of a GLUE task.

    Fields are separated by tabs, and quotes are characters like others. Texts are kept as they
    are; blank lines are skipped.

    Args:
        task: `"cola"`, `"mnli"`, `"mrpc"`, `"qnli"`, `"qqp"`, `"rte"`, `"sst2"`, `"stsb"` or
            `"wnli"`.
        path: The file, such as `train.tsv` or `dev_matched.tsv`.
        labelled: Whether the file has labels. `False` is for the `test.tsv` of each task. Defaults
            to `True`.
        on_malformed: `"error"` (default), or `"skip"` to leave malformed rows out with a warning
            that counts them: QQP's own files have a few, MNLI's first release has rows
            that annotators did not agree on.

    Returns:
        The examples in the file's order. Labels are as in the file: the numbers 0 and 1 (ints),
        for `"mnli"`, `"qnli"` and `"rte"` names, for `"stsb"` scores from 0 to 5 (floats).
        `TextClassifier(..., labels=glue_labels(task))` takes them all; `"stsb"` takes
        `num_classes=1`.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: The task is unknown; the file lacks a column or has no rows; or a line is not
            UTF-8, has the wrong number of fields or an unknown label. The message has its number.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "dev.tsv"
    >>> _ = path.write_text('sentence\\tlabel\\na "charming journey .\\t1\\n')
    >>> read_glue("sst2", path)
    LabelledTexts(texts=['a "charming journey .'], labels=[1], text_pairs=None)
    """
    return LabelledTexts.of(stream_glue(task, path, labelled, on_malformed))


def stream_glue(
    task: str, path: str | os.PathLike, labelled: bool = True, on_malformed: str = "error"
) -> ExampleStream:
    """Reads a file of a GLUE task while it is used, as `read_glue` does at once.

    Args:
        task: As for `read_glue`.
        path: The file.
        labelled: As for `read_glue`.
        on_malformed: As for `read_glue`.

    Returns:
        An iterable of dicts `text`, `text_pair` (for tasks on pairs) and `label`. Each pass opens
        the file anew.

    Raises:
        FileNotFoundError: There is no such file.
        ValueError: As `read_glue`; of the file's contents when a pass reaches the line.

    Example:

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "dev.tsv"
    >>> _ = path.write_text("index\\tsentence1\\tsentence2\\tlabel\\n0\\tIt is.\\tIs it?\\t0\\n")
    >>> list(stream_glue("wnli", path))
    [{'text': 'It is.', 'text_pair': 'Is it?', 'label': 0}]
    """
    check_glue_task(task)
    if on_malformed not in ("error", "skip"):
        raise ValueError(
            f'`on_malformed` must be "error" or "skip". Received: on_malformed={on_malformed!r}.'
        )
    path = existing_file(path, "TSV")
    read = partial(_examples, task, path, labelled, skips=on_malformed == "skip")
    return ExampleStream(path, read, has_header=_LAYOUTS[task].header is None)


def _examples(task: str, path: Path, labelled: bool, skips: bool) -> Iterator[dict[str, Any]]:
    rows = tab_rows(path)
    layout = _LAYOUTS[task]
    header = layout.header if labelled and layout.header else read_header(rows, path)
    places = _places(layout, header, path, labelled)
    label_of = _score if task == "stsb" else _classes(task).get
    skipped, first = 0, None
    for line, row in rows:
        try:
            check_width(row, len(header), path, line, _REMEDY)
            example = {field: row[at] for field, at in places.items()}
            if labelled:
                example["label"] = _label(task, example["label"], label_of, path, line)
        except ValueError as error:
            if not skips:
                raise
            skipped, first = skipped + 1, first or error
            continue
        yield example
    if skipped:
        warnings.warn(f"Malformed rows were left out: {skipped}. The first: {first}", stacklevel=2)


def _places(layout: _Layout, header, path: Path, labelled: bool) -> dict[str, int]:
    names = {"text": layout.text, "text_pair": layout.text_pair, "label": layout.label}
    hints = dict.fromkeys(names, "give a file of this task in GLUE's own layout")
    hints["label"] = "with `labelled=False` a file without labels can be read"
    return {
        field: column(header, name, path, "tabs", hints[field])
        for field, name in names.items()
        if name is not None and (labelled or field != "label")
    }


def _label(task: str, text: str, label_of, path: Path, line: int) -> str | int | float:
    label = label_of(text.strip())
    if label is None:
        known = "a number from 0 to 5" if task == "stsb" else f"one of {list(_classes(task))}"
        raise malformed(path, line, f"has the label {text!r}, which is not {known}", _REMEDY)
    return label


def _classes(task: str) -> dict[str, str | int]:
    """The classes as they stand in the task's files, and what is made of them."""
    names = GLUE_LABELS[task]
    if _LAYOUTS[task].labels_are_numbers:
        return {str(number): number for number in range(len(names))}
    return {name: name for name in names}


def _score(text: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        return None
    return score if 0 <= score <= 5 else None
