"""TensorFlow 1's checkpoints: `NAME.index` with `NAME.data-00000-of-00001`."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.weight_files import WeightFiles

_SUFFIX = ".index"
_STATE_FILE = "checkpoint"  # names the latest of several checkpoints


def has_checkpoint(folder: Path) -> bool:
    """Whether there is a TensorFlow checkpoint in a folder."""
    return any(folder.glob(f"*{_SUFFIX}"))


def open_tensorflow_weights(folder: Path) -> WeightFiles:
    """Opens the checkpoint in a folder; its weights by the variables' names.

    Where there are several, the one that the file `checkpoint` names is opened.

    Raises:
        CheckpointError: There is none, or there are several and none is named; or it is damaged.
        ImportError: TensorFlow, which reads it, is not installed.
    """
    index = _find(folder)
    file = TensorFlowFile(index)
    return WeightFiles({index: file}, dict.fromkeys(file.shapes, index))


class TensorFlowFile:
    """One checkpoint, read variable by variable."""

    def __init__(self, index: Path):
        tf = _tensorflow(index)
        # What damaged files raise depends on where they are damaged.
        self._errors = (tf.errors.OpError, RuntimeError, LookupError, ValueError, OSError)
        self._index = index
        try:
            self._reader = tf.train.load_checkpoint(str(index).removesuffix(_SUFFIX))
        except self._errors as error:
            raise self._damaged(error) from error
        shapes = self._reader.get_variable_to_shape_map()
        self.shapes = {name: tuple(shapes[name]) for name in sorted(shapes)}

    def read(self, key: str) -> np.ndarray:
        try:
            return self._reader.get_tensor(key)
        except self._errors as error:
            raise self._damaged(error) from error

    def close(self) -> None:
        self._reader = None

    def _damaged(self, error: Exception) -> CheckpointError:
        (first, *_) = str(error).splitlines() or [repr(error)]
        return CheckpointError(
            f"{self._index}, or its .data file, is cut short, damaged or missing ({first}). Fetch "
            "the checkpoint again."
        )


def _find(folder: Path) -> Path:
    indices = sorted(folder.glob(f"*{_SUFFIX}"))
    if not indices:
        raise CheckpointError(
            f"{folder} has no TensorFlow checkpoint: no file NAME{_SUFFIX} with NAME.data-... "
            "beside it. Fetch the checkpoint again."
        )
    if len(indices) == 1:
        return indices[0]
    latest = _latest(folder / _STATE_FILE)
    for index in indices:
        if index.name == f"{latest}{_SUFFIX}":
            return index
    raise CheckpointError(
        f"{folder} has several checkpoints, and no file `{_STATE_FILE}` says which is meant. Keep "
        f"one of them. Received: {[index.name for index in indices]}"
    )


def _latest(state: Path) -> str | None:
    """The file name, without its suffix, that TensorFlow's state file gives."""
    if not state.is_file():
        return None
    text = state.read_text(encoding="utf-8", errors="replace")
    found = re.search(r'^model_checkpoint_path: "(?:[^"]*/)?([^"/]+)"', text, re.MULTILINE)
    return found and found[1]


def _tensorflow(index: Path):
    try:
        import tensorflow as tf
    except ImportError as error:
        raise ImportError(
            f"Reading {index}, a TensorFlow checkpoint, needs TensorFlow. Install it: "
            "`pip install tensorflow`"
        ) from error
    return tf
