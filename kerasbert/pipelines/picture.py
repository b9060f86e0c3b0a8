"""Accuracy, size and latency of models as one picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path

from kerasbert.data.files import atomic_path
from kerasbert.pipelines.report import Row

_INK, _FAINT = "#1f2933", "#cbd2d9"
_PLAIN, _HIGHLIGHT = "#52789c", "#e07a3f"


def draw(rows: Sequence[Row], path: Path, examples: int, highlight: Row | None = None) -> None:
    """Draws three panels that share their rows: accuracy, size, latency.

    Accuracy is a point with its 95 % interval (Wilson, 1927), so that nobody reads more into a
    difference than the number of examples allows; size and latency are bars from zero.

    Args:
        rows: The models, from top to bottom.
        path: The PNG file to write.
        examples: Number of evaluation examples behind the accuracies.
        highlight: The row of another colour; None (default) for none.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 1.2 + 0.62 * len(rows)), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.15, h_pad=0.15)
    FigureCanvasAgg(figure)
    accuracy, size, latency = figure.subplots(1, 3, sharey=True, width_ratios=(1.25, 1, 1))
    colours = [_HIGHLIGHT if row is highlight else _PLAIN for row in rows]
    megabytes, milliseconds = [row.bytes / 1e6 for row in rows], [row.latency_ms for row in rows]
    _draw_accuracy(accuracy, rows, examples, colours)
    _draw_bars(size, megabytes, "Size (MB)", "{:.1f}".format, colours)
    _draw_bars(latency, milliseconds, "Latency of one text (ms)", _significant, colours)
    accuracy.set_yticks(range(len(rows)), [row.name for row in rows], fontsize=11, color=_INK)
    accuracy.invert_yaxis()
    with atomic_path(path) as temporary:
        figure.savefig(temporary, dpi=160, facecolor="white")


def _draw_accuracy(axes, rows: Sequence[Row], examples: int, colours: Sequence[str]) -> None:
    _prepare(axes, "Accuracy (%), with 95 % interval")
    for at, (row, colour) in enumerate(zip(rows, colours, strict=True)):
        low, high = wilson_interval(row.accuracy, examples)
        axes.plot([100 * low, 100 * high], [at, at], color=colour, linewidth=2, alpha=0.55)
        axes.plot(100 * row.accuracy, at, "o", color=colour, markersize=10)
        axes.annotate(
            f"{100 * row.accuracy:.1f}",
            (100 * row.accuracy, at),
            xytext=(0, 9),
            textcoords="offset points",
            ha="center",
            fontsize=11,
            color=_INK,
        )
    axes.grid(axis="x", color=_FAINT, linewidth=0.6)
    axes.margins(x=0.08)


def _draw_bars(
    axes,
    values: Sequence[float],
    title: str,
    label: Callable[[float], str],
    colours: Sequence[str],
) -> None:
    _prepare(axes, title)
    bars = axes.barh(range(len(values)), values, height=0.5, color=colours)
    axes.bar_label(bars, [label(value) for value in values], padding=5, fontsize=11, color=_INK)
    axes.set_xlim(0, 1.2 * max(values))
    axes.set_xticks([])


def _prepare(axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=12, color=_INK, pad=12)
    axes.spines[:].set_visible(False)
    axes.tick_params(length=0, colors=_INK)
    axes.set_axisbelow(True)


def _significant(value: float) -> str:
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def wilson_interval(share: float, examples: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson, 1927, "Probable inference", JASA 22, equation 6)."""
    z = 1.96
    centre = (share + z * z / (2 * examples)) / (1 + z * z / examples)
    spread = math.sqrt(share * (1 - share) / examples + z * z / (4 * examples**2))
    half = z * spread / (1 + z * z / examples)
    return centre - half, centre + half
