"""Tables of medians and ratios, in Markdown."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version

from peers.matrix_product import FLOPS

FLOOR = "matrix_product"
LIBRARIES = ("keras", "keras-hub", "tensorflow", "jax", "torch", "transformers", "onnxruntime")


def conditions(options) -> str:
    """One paragraph: the machine, the libraries and how it was measured."""
    cpus = options.threads or os.cpu_count()
    libraries = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"{_processor()}, {cpus} CPUs, {options.clock} clock, {options.rounds} rounds; {libraries}."
    )


def _processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(": ")[1].strip() for line in file if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


class Table:
    """One step's results: medians, and ratios to the floor and to transformers in the same dtype.

    Args:
        title: of the table.
        results: list of `runner.Result`.
        flops: operations that the floor counts; `None` for a table without a floor.
        texts: number of texts; the table then has texts per second instead of milliseconds.
        reference_variant: variant of the transformers peer that is the reference.
    """

    def __init__(self, title, results, flops=None, texts=None, reference_variant=""):
        self.title, self.flops, self.texts = title, flops, texts
        self.peers = [result for result in results if result.peer.library != FLOOR]
        self.products = [result for result in results if result.peer.library == FLOOR]
        self.reference_variant = reference_variant

    def find(self, library, backend=None, dtype="float32", variant=""):
        """The fastest result that matches, or `None`."""
        found = [
            result
            for result in self.peers
            if result.rounds
            and (result.peer.library, result.peer.dtype) == (library, dtype)
            and backend in (None, result.peer.backend)
            and result.peer.variant == variant
        ]
        return min(found, key=lambda result: result.median, default=None)

    def floor(self, dtype):
        """The library whose product is fastest in `dtype`, or `None`."""
        products = [r for r in self.products if r.rounds and r.peer.dtype == dtype]
        return min(products, key=lambda result: result.median, default=None)

    def ratio_to_floor(self, result):
        """Time over that of the floor in the same dtype, or `None` where either is missing."""
        floor = result and self.floor(result.peer.dtype)
        return floor and result.ratio_to(floor) * FLOPS / self.flops

    def markdown(self) -> str:
        """The table with its title and a line on the floor."""
        unit = "ms" if self.texts is None else "texts/s"
        columns = ["", "backend", "dtype", unit, *(["x floor"] if self.products else [])]
        lines = [f"### {self.title}", "", row([*columns, "x transformers"])]
        lines.append(rule(3, len(columns) - 2))
        lines += [row(self._cells(result)) for result in self.peers]
        return "\n".join([*lines, *self._floor_lines(), ""])

    def _cells(self, result):
        peer = result.peer
        names = [" ".join((peer.library, peer.variant)).strip(), peer.backend, peer.dtype]
        if result.failure:
            return [*names, f"failed: {result.failure}"]
        per_step = result.median * 1000 if self.texts is None else self.texts / result.median
        reference = self.find("transformers", "torch", peer.dtype, self.reference_variant)
        ratios = [self.ratio_to_floor(result)] if self.products else []
        ratios.append(reference and result.ratio_to(reference))
        return [*names, f"{per_step:.{0 if per_step >= 100 else 1}f}", *map(_number, ratios)]

    def _floor_lines(self):
        for dtype in ("float32", "bfloat16"):
            if floor := self.floor(dtype):
                rate = FLOPS / floor.median
                yield (
                    f"\nFloor in {dtype}: {self.flops / 1e9:.1f} GFLOP at {rate / 1e9:.0f} GFLOP/s "
                    f"({floor.peer.backend}) = {self.flops / rate * 1000:.1f} ms."
                )


def ratio(result, other):
    """Time of `result` over `other`, or `None` where either is missing."""
    return result.ratio_to(other) if result and other else None


def targets(rows) -> str:
    """A table of targets; each row: what is compared, the ratio measured, the highest wanted."""
    lines = [
        "### First targets",
        "",
        row(["", "measured", "wanted"]),
        rule(1, 2),
    ]
    measured = [row for row in rows if row[1] is not None]
    lines += [row([text, _number(value), f"<= {limit}"]) for text, value, limit in measured]
    return "\n".join([*lines, ""]) if measured else ""


def _number(value):
    return "" if value is None else f"{value:.2f}"


def row(cells) -> str:
    """A line of a Markdown table."""
    return f"| {' | '.join(map(str, cells))} |"


def rule(texts: int, numbers: int) -> str:
    """The line below a table's header: columns of text, then columns of numbers."""
    return row(["---"] * texts + ["---:"] * numbers)
