"""Fine-tuning against transformers: the same data, recipe and seeds; and the ways to fine-tune.

Run `python benchmarks/fine_tuning.py --help`, or see the README beside this file.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
import time
from pathlib import Path

from grid import Grid, run_cell
from jobs import JOBS
from options import BACKENDS
from report import row, rule

STRATEGIES = ("full", "frozen", "layer_decay", "lora", "adapter", "prompt")
STRATEGY_JOBS = ("sst2", "wnut17")
SEEDS = (1, 2, 3)


def main():
    arguments = _parser().parse_args()
    if arguments.cell:
        print(json.dumps(_run(json.loads(arguments.cell))))
        return
    grid = Grid(arguments.output)
    cells = list(_cells(arguments))
    for number, (key, backend) in enumerate(cells, start=1):
        if grid.find(**key):
            continue
        print(f"{number} of {len(cells)}: {_title(key)}", file=sys.stderr, flush=True)
        start = time.perf_counter()
        cell = run_cell(Path(__file__), {**key, "data": str(arguments.data)}, backend)
        del cell["data"]
        grid.add({**cell, "wall_seconds": round(time.perf_counter() - start, 1)})
        if "failure" in cell:
            print(f"  failed: {cell['failure']}", file=sys.stderr)
    print(tables(grid.cells, arguments.quick))


def _parser():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with a folder per data set"
    )
    parser.add_argument("--output", type=Path, default=Path("fine_tuning.jsonl"), metavar="FILE")
    parser.add_argument("--quick", action="store_true", help="one seed, few rows, every backend")
    parser.add_argument("--jobs", nargs="+", choices=JOBS, default=list(JOBS))
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, help="of kerasbert")
    parser.add_argument("--seeds", nargs="+", type=int)
    parser.add_argument("--strategies", action="store_true", help="the ways to fine-tune instead")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    return parser


def _cells(arguments):
    """Each cell's key and backend; peers of one cell stand one right after another."""
    seeds = arguments.seeds or (SEEDS[:1] if arguments.quick else SEEDS)
    backends = arguments.backends or (BACKENDS if arguments.quick else BACKENDS[:1])
    for seed in seeds:
        for job in arguments.jobs:
            key = {"job": job, "seed": seed, "quick": arguments.quick}
            if arguments.strategies:
                if job in STRATEGY_JOBS:
                    for strategy in STRATEGIES:
                        yield _cell(key, "kerasbert", backends[0], strategy)
                continue
            yield _cell(key, "transformers", "torch", "full")
            for backend in backends:
                yield _cell(key, "kerasbert", backend, "full")


def _cell(key, library, backend, strategy):
    return {**key, "library": library, "backend": backend, "strategy": strategy}, backend


def _title(key):
    return " ".join(str(key[name]) for name in ("job", "seed", "library", "backend", "strategy"))


def _run(key):
    """One cell, in this process."""
    from kerasbert.pipelines.demo_weights import demo_encoder

    job = JOBS[key["job"]]
    train, dev = job.splits(Path(key["data"]), key["quick"])
    tuner = importlib.import_module(f"tuners.{key['library']}")
    outcome = tuner.tune(job, train, dev, key["seed"], key["strategy"], str(demo_encoder()))
    return {
        "metrics": job.score(outcome.predictions, dev),
        "seconds_per_step": outcome.seconds_per_step,
        "training_seconds": sum(outcome.epoch_seconds),
        "trained_parameters": outcome.trained_parameters,
        "saved_bytes": outcome.saved_bytes,
        "train_rows": len(train),
        "dev_rows": len(dev),
    }


def tables(cells, quick) -> str:
    """The tables of all cells of one size of grid."""
    cells = [cell for cell in cells if cell["quick"] == quick and "failure" not in cell]
    full = [cell for cell in cells if cell["strategy"] == "full"]
    strategies = [
        cell for cell in cells if cell["library"] == "kerasbert" and cell["job"] in STRATEGY_JOBS
    ]
    parts = [_peer_table(full)]
    if len({cell["strategy"] for cell in strategies}) > 1:
        parts.append(_strategy_table(strategies))
    return "\n\n".join(parts)


def _peer_table(cells):
    columns = ["task", "metric", "", "backend", "score", "seeds", "ms a step", "x transformers"]
    lines = ["### Fine-tuning", "", row(columns), rule(4, 4)]
    for job in JOBS:
        peers = _groups([cell for cell in cells if cell["job"] == job], "library", "backend")
        reference = peers.get(("transformers", "torch"))
        for (library, backend), group in peers.items():
            name, score = _score(group)
            step = statistics.median(cell["seconds_per_step"] for cell in group)
            times = reference and f"{_paired(group, reference):.2f}"
            cells_of_row = [job, name, library, backend, score, len(group)]
            lines.append(row([*cells_of_row, f"{step * 1000:.0f}", times or ""]))
    return "\n".join(lines)


def _strategy_table(cells):
    columns = ["task", "strategy", "metric", "score", "trained", "training s", "saved MB"]
    lines = ["### Ways to fine-tune", "", row(columns), rule(3, 4)]
    for job in STRATEGY_JOBS:
        groups = _groups([cell for cell in cells if cell["job"] == job], "strategy")
        for (strategy,), group in groups.items():
            name, score = _score(group)
            seconds = statistics.median(cell["training_seconds"] for cell in group)
            lines.append(
                row(
                    [
                        job,
                        strategy,
                        name,
                        score,
                        f"{group[0]['trained_parameters']:,}",
                        f"{seconds:.0f}",
                        f"{group[0]['saved_bytes'] / 1e6:.2f}",
                    ]
                )
            )
    return "\n".join(lines)


def _groups(cells, *names):
    groups = {}
    for cell in cells:
        groups.setdefault(tuple(cell[name] for name in names), []).append(cell)
    return groups


def _score(group):
    """The name of the first metric, and its mean with the spread (standard deviation) of the
    seeds."""
    name = next(iter(group[0]["metrics"]))
    values = [cell["metrics"][name] for cell in group]
    spread = f" ± {statistics.stdev(values):.3f}" if len(values) > 1 else ""
    return name, f"{statistics.mean(values):.3f}{spread}"


def _paired(group, reference):
    """Median, over the seeds, of the time per step over the reference's in the same cell."""
    theirs = {cell["seed"]: cell["seconds_per_step"] for cell in reference}
    ratios = [c["seconds_per_step"] / theirs[c["seed"]] for c in group if c["seed"] in theirs]
    return statistics.median(ratios)


if __name__ == "__main__":
    main()
