"""`kerasbert convert`: checkpoints from one format to another."""

from __future__ import annotations

import argparse

from kerasbert.pipelines.convert import FORMATS, TOLERANCE, convert_checkpoint

DESCRIPTION = """\
Convert a checkpoint: an encoder, or a task with its head, and the tokenizer where there is one.

SOURCE is a folder in the layout of Hugging Face's transformers, of KerasHub, of Google's original
TF 1 releases or of kerasbert, a built-in name such as bert_base_en_uncased, or an hf:// or
kaggle:// handle. TARGET is a new folder.

What was written is loaded again and compared with the source on random input. If the outputs
differ, or anything else goes wrong, nothing is left at TARGET.
"""


def add_to(commands, parents: list[argparse.ArgumentParser]) -> None:
    """Adds the sub-command.

    Args:
        commands: What `add_subparsers` of the command's parser returned.
        parents: Parsers of the options that all sub-commands have.
    """
    parser = commands.add_parser(
        "convert",
        parents=parents,
        help="convert a checkpoint to another format, and check that it computes the same",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("source", metavar="SOURCE", help="folder, built-in name or hub handle")
    parser.add_argument("target", metavar="TARGET", help="folder to write, missing or empty")
    parser.add_argument("--to", choices=FORMATS, required=True, help="the format to write")
    parser.add_argument(
        "--family",
        metavar="NAME",
        help="for --to transformers: the family whose layout to write (default: the source's)",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="X",
        default=TOLERANCE,
        help="by how much outputs may differ at real positions (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Runs the sub-command.

    Args:
        arguments: What the parser gave.

    Raises:
        KeyboardInterrupt: After Ctrl-C; its message says that nothing was written.
        ValueError: What `convert_checkpoint` raises.
    """
    try:
        convert_checkpoint(
            arguments.source,
            arguments.target,
            to=arguments.to,
            family=arguments.family,
            tolerance=arguments.tolerance,
            say=_say,
        )
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt("Interrupted. Nothing was written.") from interrupt


def _say(line: str) -> None:
    print(line, flush=True)
