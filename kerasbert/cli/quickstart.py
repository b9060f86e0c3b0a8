"""`kerasbert quickstart`: the main job on the bundled sample or on one's own CSV files."""

from __future__ import annotations

import argparse
from dataclasses import fields

from kerasbert.data import LabelledTexts, load_sample, read_csv
from kerasbert.pipelines.quickstart import Quickstart, QuickstartSettings

DESCRIPTION = """\
Fine-tune a pretrained encoder (the teacher) on labelled texts, distill it into a student of three
layers, write the student as a float32 and as an 8-bit .tflite file with vocabulary and labels
inside, run both files, and print accuracy, parameters, size and latency of all four in one table.

Without --train and --eval it uses the data set that comes with the package. A second run into the
same folder reuses what is finished.
"""


def add_to(commands, parents: list[argparse.ArgumentParser]) -> None:
    """Adds the sub-command.

    Args:
        commands: What `add_subparsers` of the command's parser returned.
        parents: Parsers of the options that all sub-commands have.
    """
    parser = commands.add_parser(
        "quickstart",
        parents=parents,
        help="fine-tune, distill, export and measure: the main job",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    _add_data_options(parser.add_argument_group("data"))
    _add_training_options(parser.add_argument_group("training"))
    parser.add_argument(
        "--output",
        metavar="DIR",
        default="kerasbert-quickstart",
        help="folder to write to (default: %(default)s)",
    )
    parser.set_defaults(run=run)


def _add_data_options(group) -> None:
    group.add_argument("--train", metavar="FILE.csv", help="CSV file with a header, to train on")
    group.add_argument("--eval", metavar="FILE.csv", help="CSV file to measure on")
    for name, default in (("text", "text"), ("pair", "text_pair"), ("label", "label")):
        group.add_argument(
            f"--{name}-column",
            metavar="NAME",
            default=default,
            help=f"column of the {'second texts, if any' if name == 'pair' else name + 's'} "
            "(default: %(default)s)",
        )


def _add_training_options(group) -> None:
    defaults = QuickstartSettings()
    group.add_argument(
        "--teacher",
        metavar="PRESET",
        help="folder, built-in name or hub handle of the encoder (default: all-MiniLM-L6-v2 from "
        "the extra `demo`)",
    )
    for name, kind, meaning in (
        ("teacher-epochs", int, "passes over the data for the teacher (default: by its size)"),
        ("student-epochs", int, "the same for the student"),
        ("teacher-learning-rate", float, "peak of the teacher's schedule (default: %(default)s)"),
        ("student-learning-rate", float, "peak of the student's schedule (default: %(default)s)"),
        ("batch-size", int, "texts per training step (default: %(default)s)"),
        ("seed", int, "of dropout, shuffling and new weights (default: %(default)s)"),
    ):
        default = getattr(defaults, name.replace("-", "_"))
        group.add_argument(f"--{name}", type=kind, metavar="N", default=default, help=meaning)


def run(arguments: argparse.Namespace) -> None:
    """Runs the sub-command.

    Args:
        arguments: What the parser gave.

    Raises:
        KeyboardInterrupt: After Ctrl-C; its message says what is kept.
        ValueError: One of `--train` and `--eval` is missing, or what `run_quickstart` raises.
    """
    names = [field.name for field in fields(QuickstartSettings) if field.name in arguments]
    settings = QuickstartSettings(**{name: getattr(arguments, name) for name in names})
    train, evaluation, data_name = _data(arguments)
    job = Quickstart(train, evaluation, arguments.output, settings, data_name, say=_say)
    try:
        job.run()
    except KeyboardInterrupt as interrupt:
        kept = ", ".join(job.stages.finished) or "nothing yet"
        raise KeyboardInterrupt(
            f"Interrupted. Finished and kept in {job.folder}: {kept}. The same command goes on "
            "from there."
        ) from interrupt


def _data(arguments: argparse.Namespace) -> tuple[LabelledTexts, LabelledTexts, str]:
    if (arguments.train is None) != (arguments.eval is None):
        given = "--train" if arguments.eval is None else "--eval"
        raise ValueError(
            "--train and --eval go together: what is measured must not be trained on. Give both "
            f"files, or neither for the bundled data set. Received: only {given}"
        )
    if arguments.train is None:
        return load_sample("train"), load_sample("test"), "the bundled requests to a phone"
    columns = (arguments.text_column, arguments.label_column, arguments.pair_column)
    train, evaluation = (read_csv(path, *columns) for path in (arguments.train, arguments.eval))
    return train, evaluation, f"{arguments.train}, {arguments.eval}"


def _say(line: str) -> None:
    print(line, flush=True)
