"""Time of a forward pass: kerasbert, KerasHub, transformers, ONNX Runtime and the floor.

Run `python benchmarks/inference.py --help`, or see the README beside this file.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import options
from report import Table, conditions, ratio, targets
from runner import Peer, measure
from shapes import SHAPES

BATCHES = (1, 8)


def main():
    parser = options.parser("Time of a forward pass against its peers and the floor.")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with banking77/train.csv")
    parser.add_argument("--texts", type=int, default=256, help="number of texts of mixed length")
    arguments = options.parse(parser)
    output = options.Output(arguments)
    output.add(f"## Inference\n\n{conditions(arguments)}\n")
    for shape in ("MiniLM",) if arguments.quick else ("BERT base", "MiniLM"):
        tables = _encoder_tables(shape, arguments)
        for table in tables:
            output.add(table.markdown())
        if shape == "BERT base" and tables:
            output.add(targets(_targets(tables[-1], arguments.backends)))
    output.add(_texts_table("MiniLM", arguments).markdown())


def _encoder_tables(shape, arguments):
    results = measure(
        options.peers(arguments),
        "encode",
        {"shape": shape, "batches": BATCHES},
        arguments.rounds,
        arguments.threads,
        arguments.clock,
    )
    return [
        Table(f"{shape}, {size} x 128", results[f"batch {size}"], SHAPES[shape].flops(size))
        for size in BATCHES
        if f"batch {size}" in results
    ]


def _targets(table, backends):
    yield (
        "kerasbert's best backend to the floor, float32",
        table.ratio_to_floor(table.find("kerasbert")),
        1.25,
    )
    for backend in backends:
        ours, theirs = (table.find(library, backend) for library in ("kerasbert", "keras_hub"))
        yield f"kerasbert to KerasHub on {backend}, float32", ratio(ours, theirs), 1
    for dtype in options.DTYPES:
        ours, theirs = (table.find(name, "torch", dtype) for name in ("kerasbert", "transformers"))
        yield f"kerasbert to transformers on torch, {dtype}", ratio(ours, theirs), 1


def _texts_table(shape, arguments):
    texts, source = _texts(arguments)
    chosen = [p for p in options.peers(arguments) if p.library in ("kerasbert", "keras_hub")]
    if "transformers" in arguments.peers and "torch" in arguments.backends:
        chosen += [
            Peer("transformers", "torch", dtype, variant)
            for dtype in arguments.dtypes
            for variant in ("sorted", "unsorted")
        ]
    with tempfile.TemporaryDirectory() as folder:
        _train_tokenizer(texts, folder)
        results = measure(
            chosen,
            "predict",
            {"shape": shape, "texts": texts, "tokenizer": folder},
            arguments.rounds,
            arguments.threads,
            arguments.clock,
        )
    title = f"{shape}, {len(texts)} texts of {source}, from strings to logits"
    return Table(title, results.get("texts", []), texts=len(texts), reference_variant="sorted")


def _texts(arguments):
    from kerasbert import data

    if arguments.data is None:
        return data.load_sample().texts[: arguments.texts], "the bundled sample"
    path = arguments.data / "banking77" / "train.csv"
    examples = data.read_csv(path, label_column="category")
    step = max(1, len(examples) // arguments.texts)  # the file is ordered by label
    return examples.texts[::step][: arguments.texts], "banking77"


def _train_tokenizer(texts, folder):
    """One vocabulary for all peers, as `tokenizer.json` and `vocab.txt`."""
    from kerasbert import Tokenizer

    tokenizer = Tokenizer.train(texts, vocabulary_size=8000)
    tokenizer.save(folder)
    tokens = (tokenizer.id_to_token(index) for index in range(tokenizer.vocabulary_size()))
    (Path(folder) / "vocab.txt").write_text("\n".join(tokens) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
