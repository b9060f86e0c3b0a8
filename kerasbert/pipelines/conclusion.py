"""What follows from the quickstart's table, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kerasbert.pipelines.measuring import LATENCY_TEXTS, litert_threads
from kerasbert.pipelines.report import Row

# The 8-bit file is worth shipping as long as it loses less than this against the student.
MAX_LOSS = 0.01


@dataclass(frozen=True)
class RunFacts:
    """How the rows of a table came about.

    Args:
        data: One line about the data.
        epochs: Of the teacher and of the student.
        max_difference: Largest difference of the float32 file's probabilities from Keras's.
        machine: One line about the machine.
        seconds: Stage to the time that it took.
    """

    data: str
    epochs: tuple[int, int]
    max_difference: float
    machine: str
    seconds: Mapping[str, float]


def file_to_ship(student: Row, float32: Row, int8: Row) -> Row:
    """The 8-bit file, if it loses less than `MAX_LOSS` against the student, else the other one."""
    return int8 if student.accuracy - int8.accuracy < MAX_LOSS else float32


def conclusion(teacher: Row, student: Row, float32: Row, int8: Row, examples: int) -> str:
    """Which file to ship, and why.

    Args:
        teacher: Row of the table.
        student: Row of the table.
        float32: Row of the table.
        int8: Row of the table.
        examples: Number of evaluation texts.

    Returns:
        Two sentences.
    """
    change = 100 * (int8.accuracy - student.accuracy)
    lost = f"{abs(change):.1f} points {'less' if change < 0 else 'more'} accurate than"
    lost = "as accurate as" if round(change, 1) == 0 else lost
    if file_to_ship(student, float32, int8) is int8:
        first = (
            f"Ship {int8.file}: it is {lost} the student, {float32.bytes / int8.bytes:.1f} times "
            f"smaller than the float32 file and {float32.latency_ms / int8.latency_ms:.1f} times "
            "as fast."
        )
    else:
        first = (
            f"Ship {float32.file}: the 8-bit file is {lost} the student, more than the "
            f"{100 * MAX_LOSS:.0f} point that its size is worth."
        )
    share = student.accuracy / teacher.accuracy if teacher.accuracy else float("nan")
    return (
        f"{first} The student keeps {share:.1%} of the teacher's accuracy; one of the "
        f"{examples:,} evaluation texts is {100 / examples:.2f} points."
    )


def facts(rows: Sequence[Row], run: RunFacts) -> dict[str, str]:
    """What a reader needs to judge the table, by name."""
    total = sum(run.seconds.values())
    stages = ", ".join(f"{name} {seconds:.0f}" for name, seconds in run.seconds.items())
    return {
        "Data": run.data,
        "Training": f"teacher {run.epochs[0]} epochs, student {run.epochs[1]} epochs",
        "Size": "of the files; for teacher and student, of all files of the preset folder",
        "Latency": (
            f"median over {LATENCY_TEXTS} evaluation texts (all, if there are fewer), one text at "
            "a time, tokenized beforehand; teacher and student by `predict_on_batch`, padded to "
            f"the smallest length bucket; the files by LiteRT on {litert_threads()} threads, at "
            "the text's own length"
        ),
        "Files": (
            "for texts of any length; the float32 file's probabilities differ from Keras's by at "
            f"most {run.max_difference:.0e}"
        ),
        "Machine": run.machine,
        "Time": f"{total:.0f} s in all: {stages}",
    }
