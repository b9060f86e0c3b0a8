"""Checkpoints from one format to another, written only when they compute the same."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import keras
import numpy as np
from keras import ops

from kerasbert.checkpoints import presets
from kerasbert.checkpoints.foreign import is_foreign, open_foreign
from kerasbert.checkpoints.sources import Source, resolve
from kerasbert.data.files import atomic_folder
from kerasbert.families import get_family
from kerasbert.models import (
    Encoder,
    MaskedLM,
    MultipleChoice,
    PretrainingModel,
    QuestionAnswerer,
    ReplacedTokenDetector,
    TextClassifier,
    TokenClassifier,
)
from kerasbert.models.restating import restated_for
from kerasbert.pipelines.hashing import files_in
from kerasbert.text import Tokenizer

FORMATS = ("kerasbert", "transformers")
TOLERANCE = 1e-4

# Where a checkpoint has the heads of several, the first is meant.
TASKS = (
    PretrainingModel,
    ReplacedTokenDetector,
    MaskedLM,
    TextClassifier,
    TokenClassifier,
    QuestionAnswerer,
    MultipleChoice,
)
# The rows of the batch on which both models are compared: real tokens of at most this many.
_LENGTHS = (16, 11, 5, 1)
# The pair of texts on which both tokenizers are compared: capitals, accents, punctuation, scripts.
_TEXTS = ("Naïve cafés, don't they? 3.14", "私は Ünïcode über [MASK] \t<mask>")


@dataclass(frozen=True)
class Converted:
    """What a conversion wrote.

    Attributes:
        folder: Where.
        model: Name of the model's class.
        max_difference: The largest difference of an output between the source and what was written.
    """

    folder: Path
    model: str
    max_difference: float


def convert_checkpoint(
    source: str | os.PathLike,
    target: str | os.PathLike,
    to: str,
    family: str | None = None,
    tolerance: float = TOLERANCE,
    say: Callable[[str], None] = print,
) -> Converted:
    """Converts a checkpoint, with its head and its tokenizer where it has them.

    What was written is loaded again and compared with the source on random input; only then does it
    take its name. After an error or Ctrl-C there is nothing at `target`.

    Args:
        source: What `from_preset` takes: a built-in name, a folder in any layout that can be read,
            or a handle of a hub.
        target: The folder to write, which is missing or empty.
        to: `"kerasbert"` or `"transformers"`.
        family: The family whose layout to write for transformers. None (default) for the source's.
        tolerance: By how much outputs at real positions may differ. Defaults to 1e-4.
        say: Called with one line of progress at a time. Defaults to `print`.

    Returns:
        What was written, and how well it agrees.

    Raises:
        ValueError: The source is unknown, broken or not supported; it cannot be represented in the
            other format; the target holds something; or the outputs differ.
        OSError: The source cannot be fetched, or the target cannot be written.

    Example:

    ```python
    import tempfile
    from kerasbert import Encoder, EncoderConfig
    from kerasbert.pipelines import convert_checkpoint

    folder = tempfile.mkdtemp()
    config = EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    Encoder(config, family="bert").save_to_preset(f"{folder}/ours")
    convert_checkpoint(f"{folder}/ours", f"{folder}/theirs", to="transformers")
    ```
    """
    if to not in FORMATS:
        raise ValueError(f"`to` must be one of {FORMATS}. Received: to={to!r}")
    if family is not None and to != "transformers":
        raise ValueError(
            "`family` names a layout of transformers; kerasbert has one for all. Leave it out. "
            f"Received: family={family!r}, to={to!r}"
        )
    _check_is_free(Path(target))
    with _step(say, f"read {os.fspath(source)}"):
        found = resolve(source)
        cls = model_class_of(found)
        model = cls.from_preset(found.folder)
        tokenizer = _tokenizer_of(model, found.folder)
    say(_description(model, tokenizer))
    with atomic_folder(target) as temporary:
        with _step(say, f"write for {to}"):
            _WRITERS[to](model, tokenizer, temporary, family, say)
        say(f"  {_megabytes(temporary)} in {len(files_in(temporary))} files")
        with _step(say, "check what was written"):
            difference = _check_same(model, tokenizer, cls, temporary, tolerance)
        say(f"  outputs agree within {difference:.1e}")
    say(f"Everything is in {os.fspath(target)}")
    return Converted(Path(target), cls.__name__, difference)


def model_class_of(source: Source) -> type[keras.Model]:
    """The class of the model that a folder holds: a task where its head is known, or `Encoder`."""
    if is_foreign(source):
        folder = open_foreign(source)
        return next((cls for cls in TASKS if folder.head(cls.task) is not None), Encoder)
    if not (source.folder / presets.TASK_FILE).is_file():
        return Encoder
    return presets.read_class(source.folder, presets.TASK_FILE, keras.Model)[0]


def _check_is_free(target: Path) -> None:
    if target.exists() and not (target.is_dir() and not any(target.iterdir())):
        raise ValueError(
            "The target is there already, and nothing is overwritten. Name a new folder, or an "
            f"empty one. Received: target={str(target)!r}"
        )


def _tokenizer_of(model: keras.Model, folder: Path) -> Tokenizer | None:
    preprocessor = getattr(model, "preprocessor", None)
    if preprocessor is not None:
        return preprocessor.tokenizer
    return Tokenizer.from_preset(folder) if Tokenizer.exists_in(folder) else None


def _write_ours(model, tokenizer, folder, family, say) -> None:
    model.save_to_preset(folder)
    if tokenizer is not None:
        tokenizer.save_assets(folder / presets.TOKENIZER_ASSETS)


def _write_for_transformers(model, tokenizer, folder, family, say) -> None:
    name = family or _encoder_of(model).family
    if name is not None:
        model, differences = restated_for(model, get_family(name))
        for difference in differences:
            say(f"  in the layout of {name}, {difference}")
    model.export_to_transformers(folder, family=family)
    if tokenizer is not None and not Tokenizer.exists_in(folder):
        has_segments = _encoder_of(model).config.num_segments > 1
        segment_names = ["token_type_ids"] if has_segments else []
        tokenizer.save(folder, model_input_names=["input_ids", *segment_names, "attention_mask"])


_WRITERS = {"kerasbert": _write_ours, "transformers": _write_for_transformers}


def _check_same(model, tokenizer, cls, folder: Path, tolerance: float) -> float:
    """The largest difference between a model and what is read from a folder.

    Raises:
        ValueError: It exceeds the tolerance, or the tokenizers differ.
    """
    again = cls.from_preset(folder)
    if tokenizer is not None:
        _check_same_ids(tokenizer, _tokenizer_of(again, folder))
    batch = _random_batch(model, again)
    difference = _largest_difference(model(batch), again(batch), batch["padding_mask"])
    if not difference <= tolerance:  # NaN is no agreement
        raise ValueError(
            "What was written computes something else than the source, so nothing was kept. "
            f"Received: largest difference {difference:.3g}, tolerance {tolerance:g}"
        )
    return difference


def _check_same_ids(tokenizer: Tokenizer, again: Tokenizer) -> None:
    expected, found = (one.encode(*_TEXTS).ids for one in (tokenizer, again))
    if expected != found or not tokenizer.same_vocabulary(again):
        raise ValueError(
            "The tokenizer that was written differs from the source's, so nothing was kept. "
            f"Received: ids {found} instead of {expected} for {_TEXTS}"
        )


def _random_batch(model: keras.Model, again: keras.Model) -> dict[str, np.ndarray]:
    """Input for both models of four rows of several lengths, whatever the ranks of the inputs."""
    config = _encoder_of(model).config
    length = min(max(_LENGTHS), config.max_sequence_length)
    draw = np.random.default_rng(0)
    batch = {}
    for name, spec in {**again.input, **model.input}.items():
        shape = [len(_LENGTHS), *(size or 2 for size in spec.shape[1:-1]), length]
        high = {"token_ids": config.vocabulary_size, "segment_ids": max(config.num_segments, 1)}
        batch[name] = draw.integers(0, high.get(name, 1), shape).astype("int32")
    real = np.arange(length) < np.array(_LENGTHS)[:, None]
    extra = batch["padding_mask"].ndim - real.ndim
    real = real.reshape(len(_LENGTHS), *[1] * extra, length)
    batch["padding_mask"][...] = real
    return batch


def _largest_difference(expected, found, padding_mask: np.ndarray) -> float:
    """Over all outputs that were written, and of those with values per token at real tokens."""
    if isinstance(found, dict):
        expected = {name: expected[name] for name in found}
    real = padding_mask.astype(bool)
    differences = []
    for left, right in zip(keras.tree.flatten(expected), keras.tree.flatten(found), strict=True):
        left, right = (ops.convert_to_numpy(ops.cast(value, "float32")) for value in (left, right))
        if left.shape[: real.ndim] == real.shape:
            left, right = left[real], right[real]
        differences.append(np.max(np.abs(left - right)))
    return float(np.max(differences))


def _encoder_of(model: keras.Model) -> Encoder:
    return getattr(model, "backbone", model)


def _description(model: keras.Model, tokenizer: Tokenizer | None) -> str:
    encoder = _encoder_of(model)
    config, labels = encoder.config, getattr(model, "labels", None)
    parts = [
        f"{type(model).__name__} of family {encoder.family or 'bert'}",
        f"{config.num_layers} layers x {config.hidden_dim}",
        f"{model.count_params():,} parameters",
        f"{len(labels)} labels" if labels else "",
        "no tokenizer" if tokenizer is None else f"{tokenizer.vocabulary_size():,} tokens",
    ]
    return "  " + ", ".join(part for part in parts if part)


def _megabytes(folder: Path) -> str:
    return f"{sum(file.stat().st_size for file in files_in(folder)) / 1e6:.1f} MB"


@contextmanager
def _step(say: Callable[[str], None], name: str) -> Iterator[None]:
    """Says when a step begins, and how long it took."""
    say(f"{name}: started")
    start = time.perf_counter()
    yield
    say(f"{name}: finished after {time.perf_counter() - start:.1f} s")
