"""What is learnt in `fine_tuning.py`: data sets, recipes and metrics, the same for all peers."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from kerasbert import data, metrics


@dataclasses.dataclass(frozen=True)
class Split:
    """Inputs and targets as kerasbert's tasks take them.

    Args:
        x: list of texts, or a dict of lists, or a list of word lists.
        y: a target for each example.
        references: for each example what the metric compares with, where that is not `y`.
    """

    x: Any
    y: list
    references: list | None = None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, rows) -> Split:
        """Some of the examples."""

        def chosen(column):
            return column and [column[row] for row in rows]

        x = self.x
        x = {n: chosen(column) for n, column in x.items()} if isinstance(x, dict) else chosen(x)
        return Split(x, chosen(self.y), chosen(self.references))


@dataclasses.dataclass(frozen=True)
class Job:
    """One data set with its recipe.

    Args:
        kind: `classifier`, `regression`, `tagging`, `question_answering` or `multiple_choice`.
        read: from the folder with all data sets to the training and the evaluation split.
        score: from predictions and the evaluation split to the metrics; the first one counts.
        rows: the most training examples; `None` for all.
        quick_rows: the most with `--quick`, for training and for evaluation.
        epochs: passes over the training examples; in each, half of them is the least to be timed.
        learning_rate: peak of the schedule.
        batch_size: examples of a batch.
        sequence_length: the most tokens of a row.
    """

    kind: str
    read: Callable[[Path], tuple[Split, Split]]
    score: Callable[[Any, Split], dict[str, float]]
    rows: int | None = None
    quick_rows: int = 1000
    epochs: int = 3
    learning_rate: float = 1e-4
    batch_size: int = 32
    sequence_length: int = 128

    def splits(self, folder: Path, quick: bool) -> tuple[Split, Split]:
        """The training and the evaluation split; their rows are drawn once for all seeds."""
        train, dev = self.read(folder)
        train = _drawn(train, self.quick_rows if quick else self.rows)
        return train, _drawn(dev, self.quick_rows) if quick else dev


def _drawn(split: Split, most: int | None) -> Split:
    if most is None or len(split) <= most:
        return split
    return split.take(sorted(random.Random(0).sample(range(len(split)), most)))


def labels_of(split: Split) -> list[str]:
    """The classes of a classifier or a tagger, in a fixed order."""
    flat = split.y if isinstance(split.y[0], str) else [tag for tags in split.y for tag in tags]
    return sorted(set(flat), key=lambda label: (label != "O", label))


def _glue(task, as_target):
    def read(folder):
        files = (data.read_glue(task, folder / task / name) for name in ("train.tsv", "dev.tsv"))
        return tuple(Split(file.inputs(), list(map(as_target, file.labels))) for file in files)

    return read


def _banking77(folder):
    files = (
        data.read_csv(folder / "banking77" / name, label_column="category")
        for name in ("train.csv", "test.csv")
    )
    return tuple(Split(file.inputs(), file.labels) for file in files)


def _tagged(name, train, dev):
    def read(folder):
        files = (data.read_conll(folder / name / file) for file in (train, dev))
        return tuple(Split(read.inputs(), read.targets()) for read in files)

    return read


def _codah(folder):
    files = (data.read_codah(folder / "codah" / "fold_0" / f"{n}.tsv") for n in ("train", "dev"))
    return tuple(Split(read.inputs(), read.targets()) for read in files)


# Every fourth article is for evaluation.
_HELD_OUT = 4


def _squad(answerable_only):
    def read(folder):
        squad = data.read_squad(folder / "squad2" / "dev-v2.0.json")
        titles = sorted(set(squad.titles))
        held_out = set(titles[::_HELD_OUT])
        rows = [row for row, answers in enumerate(squad.answers) if answers or not answerable_only]
        references = squad.references()
        by_row = [references[name] for name in squad.ids]
        whole = Split(squad.inputs(), squad.targets(), by_row)
        return tuple(
            whole.take([row for row in rows if (squad.titles[row] in held_out) == is_held_out])
            for is_held_out in (False, True)
        )

    return read


def _accuracy(predictions, dev):
    return {"accuracy": metrics.accuracy(predictions, dev.y)}


def _correlations(predictions, dev):
    return metrics.glue("stsb", predictions, dev.y)


def _entity_f1(predictions, dev):
    return {"f1": metrics.entity_scores(dev.y, predictions)["f1"]}


def _word_accuracy(predictions, dev):
    flat = [[tag for tags in sentences for tag in tags] for sentences in (predictions, dev.y)]
    return {"accuracy": metrics.accuracy(*flat)}


def _answer_f1(predictions, dev):
    texts, _ = predictions
    return _squad_scores(texts, dev)


def _no_answer_f1(predictions, dev):
    """At the threshold that is best on the evaluation split, as the official script's `best_f1`;
    beside it what always answering "none" gets."""
    texts, null_scores = predictions
    by_id = (dict(enumerate(values)) for values in (texts, dev.references, null_scores))
    threshold, _ = metrics.best_threshold(*by_id)
    chosen = [
        "" if score > threshold else text for text, score in zip(texts, null_scores, strict=True)
    ]
    return {
        **_squad_scores(chosen, dev),
        "f1_of_always_none": _squad_scores([""] * len(texts), dev)["f1"],
    }


def _squad_scores(texts, dev):
    scores = metrics.squad(dict(enumerate(texts)), dict(enumerate(dev.references)))
    return {"f1": scores["f1"], "exact": scores["exact"]}


JOBS = {
    "sst2": Job("classifier", _glue("sst2", str), _accuracy, rows=8000, learning_rate=5e-5),
    "stsb": Job("regression", _glue("stsb", float), _correlations, epochs=4),
    "banking77": Job("classifier", _banking77, _accuracy, epochs=6),
    "wnut17": Job("tagging", _tagged("wnut17", "train.conll", "dev.conll"), _entity_f1, epochs=5),
    "ud_ewt_pos": Job(
        "tagging", _tagged("ud_ewt_pos", "train.tsv", "dev.tsv"), _word_accuracy, rows=4000
    ),
    "squad2_answerable": Job(
        "question_answering",
        _squad(answerable_only=True),
        _answer_f1,
        rows=2000,
        quick_rows=200,
        epochs=2,
        batch_size=16,
        sequence_length=384,
    ),
    "squad2": Job(
        "question_answering",
        _squad(answerable_only=False),
        _no_answer_f1,
        rows=3000,
        quick_rows=200,
        epochs=2,
        batch_size=16,
        sequence_length=384,
    ),
    "codah": Job("multiple_choice", _codah, _accuracy, quick_rows=500, batch_size=8),
}
