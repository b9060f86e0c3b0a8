"""Time of one training step: forward, backward and AdamW, with dropout.

Run `python benchmarks/training.py --help`, or see the README beside this file.
"""

from __future__ import annotations

import options
from report import Table, conditions, ratio, targets
from runner import measure
from shapes import SHAPES

BATCH_SIZE = 8


def main():
    arguments = options.parse(options.parser("Time of one training step against its peers."))
    output = options.Output(arguments)
    output.add(f"## Training\n\n{conditions(arguments)}\n")
    for shape in ("MiniLM",) if arguments.quick else ("6 layers x 768", "MiniLM"):
        table = _table(shape, arguments)
        output.add(table.markdown())
        if shape == "6 layers x 768":
            output.add(targets(_targets(table)))


def _table(shape, arguments):
    chosen = [
        peer
        for peer in options.peers(arguments, keras_hub_dtypes=options.DTYPES)
        if peer.library != "onnxruntime"
    ]
    results = measure(
        chosen,
        "train",
        {"shape": shape, "batches": [BATCH_SIZE]},
        arguments.rounds,
        arguments.threads,
        arguments.clock,
    )
    flops = 3 * SHAPES[shape].flops(BATCH_SIZE)  # the backward pass has two products for each
    title = f"{shape}, {BATCH_SIZE} x 128, one step"
    return Table(title, results.get(f"batch {BATCH_SIZE}", []), flops)


def _targets(table):
    reference = table.find("transformers")
    for text, ours, limit in (
        ("kerasbert to transformers on torch, float32", table.find("kerasbert", "torch"), 1),
        ("kerasbert's best backend to transformers, float32", table.find("kerasbert"), 0.55),
    ):
        yield text, ratio(ours, reference), limit


if __name__ == "__main__":
    main()
