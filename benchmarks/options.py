"""The options that both benchmarks take, and the peers that they choose."""

from __future__ import annotations

import argparse
from pathlib import Path

from runner import CLOCKS, Peer

BACKENDS = ("tensorflow", "jax", "torch")
DTYPES = ("float32", "bfloat16")
LIBRARIES = ("kerasbert", "keras_hub", "transformers", "onnxruntime", "matrix_product")


def parser(description: str) -> argparse.ArgumentParser:
    """A parser with the options that both benchmarks take."""
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--quick", action="store_true", help="MiniLM only, three rounds")
    options.add_argument("--peers", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    options.add_argument("--backends", nargs="+", choices=BACKENDS, default=BACKENDS)
    options.add_argument("--dtypes", nargs="+", choices=DTYPES, default=DTYPES)
    options.add_argument("--rounds", type=int, help="turns of each peer; 7 by default")
    options.add_argument("--threads", type=int, default=0, help="CPUs of each peer; 0 for all")
    options.add_argument(
        "--clock",
        choices=CLOCKS,
        default="wall",
        help="`cpu` with `--threads 1` compares work done, also on a machine that others use",
    )
    options.add_argument("--output", type=Path, metavar="FILE.md", help="also write the tables")
    return options


def parse(options: argparse.ArgumentParser) -> argparse.Namespace:
    """The arguments, with the defaults that `--quick` changes."""
    arguments = options.parse_args()
    if arguments.rounds is None:
        arguments.rounds = 3 if arguments.quick else 7
    return arguments


def peers(arguments, keras_hub_dtypes=("float32",)) -> list[Peer]:
    """The peers that the arguments leave, ours first.

    Args:
        arguments: of `parse`.
        keras_hub_dtypes: dtypes in which KerasHub is measured.
    """
    chosen = [Peer("kerasbert", b, d) for d in DTYPES for b in BACKENDS]
    chosen += [Peer("keras_hub", b, d) for d in keras_hub_dtypes for b in BACKENDS]
    chosen += [Peer("transformers", "torch", d) for d in DTYPES]
    chosen += [Peer("onnxruntime", "", "float32"), Peer("matrix_product", "numpy", "float32")]
    chosen += [Peer("matrix_product", b, d) for d in DTYPES for b in BACKENDS]
    return [
        peer
        for peer in chosen
        if peer.library in arguments.peers
        and peer.dtype in arguments.dtypes
        and (peer.backend in arguments.backends or peer.backend not in BACKENDS)
    ]


class Output:
    """Prints the report part by part, and keeps the file that `--output` names up to date."""

    def __init__(self, arguments):
        self._path = arguments.output
        self._parts = []

    def add(self, part: str) -> None:
        """Append a part, once it is measured."""
        print(part, flush=True)
        self._parts.append(part)
        if self._path:
            self._path.write_text("\n".join(self._parts), encoding="utf-8")
