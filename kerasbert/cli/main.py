"""The `kerasbert` command: sub-commands, the choice of the backend, and errors in one line."""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Iterator, Sequence

import keras

import kerasbert
from kerasbert.cli import convert, quickstart

BACKENDS = ("tensorflow", "jax", "torch")
USAGE_ERROR, INTERRUPTED = 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
        argv: The arguments; None (default) for those of the process.

    Returns:
        The exit status: 0, or 2 for an error that the user can mend (one line on stderr), or 130
        after Ctrl-C.
    """
    argv = list(sys.argv[1:] if argv is None else argv)
    arguments = _parser().parse_args(argv)
    try:
        if arguments.backend not in (None, keras.backend.backend()):
            return _run_again(arguments.backend, argv)
        with _plain_warnings():
            arguments.run(arguments)
    except KeyboardInterrupt as interrupt:
        print(f"\n{interrupt or 'Interrupted.'}", file=sys.stderr)
        return INTERRUPTED
    except (ValueError, OSError, ImportError, FloatingPointError) as error:
        if arguments.debug:
            raise
        print(f"kerasbert: error: {_one_line(error)}", file=sys.stderr)
        return USAGE_ERROR
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kerasbert", description="The BERT family on Keras 3, from checkpoint to phone."
    )
    parser.add_argument("--version", action="version", version=f"kerasbert {kerasbert.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--backend",
        choices=BACKENDS,
        help=f"what Keras runs on (default: Keras's own setting, now {keras.backend.backend()})",
    )
    common.add_argument(
        "--debug", action="store_true", help="show where in the code an error was raised"
    )
    quickstart.add_to(commands, parents=[common])
    convert.add_to(commands, parents=[common])
    return parser


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Warnings in one line each, without the place in the code that gave them."""

    def show(message, *_):
        print(f"kerasbert: warning: {_one_line(message)}", file=sys.stderr)

    # TensorFlow's advice on `tf.function` is for those who write one.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _one_line(message: object) -> str:
    return " ".join(str(message).split())


def _run_again(backend: str, argv: list[str]) -> int:
    """Starts the same command anew: Keras takes its backend from the environment, at its import."""
    if importlib.util.find_spec(backend) is None:
        raise ImportError(
            f"The backend is not installed. Install it with `pip install kerasbert[{backend}]`. "
            f"Received: --backend {backend}"
        )
    command = [sys.executable, "-m", "kerasbert.cli.main", *argv]
    environment = {**os.environ, "KERAS_BACKEND": backend}
    sys.stdout.flush()
    sys.stderr.flush()
    if os.name == "nt":  # There, execve starts a second process and ends this one too early.
        return subprocess.run(command, env=environment).returncode
    os.execve(sys.executable, command, environment)


if __name__ == "__main__":
    sys.exit(main())
