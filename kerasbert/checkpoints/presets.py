"""kerasbert's own preset folders.

```
config.json          the encoder: class and configuration
model.weights.h5     its weights
task.json            a task: class and configuration, without the encoder and the preprocessor
task.weights.h5      the weights of the task's head
preprocessor.json    the preprocessor and its tokenizer: class and configuration
assets/tokenizer/    the Rust library's tokenizer.json
```
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import h5py
import keras

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.json_files import read_json
from kerasbert.checkpoints.sources import CONFIG_FILE

WEIGHTS_FILE = "model.weights.h5"
TASK_FILE = "task.json"
TASK_WEIGHTS_FILE = "task.weights.h5"
PREPROCESSOR_FILE = "preprocessor.json"
TOKENIZER_ASSETS = Path("assets") / "tokenizer"


def write_object(folder: Path, name: str, instance, drop: tuple[str, ...] = ()) -> None:
    """Write the class and the configuration of a Keras object as JSON, without some entries."""
    data = keras.saving.serialize_keras_object(instance)
    for entry in drop:
        data["config"].pop(entry, None)
    (folder / name).write_text(json.dumps(data, indent=2), encoding="utf-8")


def read_class(folder: Path, name: str, base: type) -> tuple[type, dict[str, Any]]:
    """The class and the configuration that `write_object` wrote.

    Raises:
        CheckpointError: if the file is missing, or describes no known class or none of `base`.
    """
    data = read_json(folder / name)
    cls = keras.saving.get_registered_object(str(data.get("registered_name")))
    if cls is None or not isinstance(data.get("config"), dict):
        raise CheckpointError(
            f"{folder / name} does not describe an object that is known here. Import the library "
            f"that defines it first. Received: registered_name={data.get('registered_name')!r}"
        )
    if not issubclass(cls, base):
        raise CheckpointError(
            f"{folder} holds a `{cls.__name__}`, not a `{base.__name__}`. "
            f"Use `{cls.__name__}.from_preset`."
        )
    return cls, data["config"]


def read_object(folder: Path, name: str, base: type, **changes: Any):
    """Rebuild a Keras object that `write_object` wrote, with some entries replaced."""
    cls, config = read_class(folder, name, base)
    return cls.from_config({**config, **changes})


def remove_task(folder: str | os.PathLike) -> None:
    """Remove the files of a task, so that a folder does not mix an old task with a new encoder."""
    for name in (TASK_FILE, TASK_WEIGHTS_FILE):
        (Path(folder) / name).unlink(missing_ok=True)
    remove_preprocessor(folder)


def remove_preprocessor(folder: str | os.PathLike) -> None:
    """Remove an old preprocessor, whose ids need not be those of a new encoder."""
    (Path(folder) / PREPROCESSOR_FILE).unlink(missing_ok=True)
    shutil.rmtree(Path(folder) / TOKENIZER_ASSETS, ignore_errors=True)


def save_weights(model: keras.Model, path: Path, skip: list) -> None:
    """Write the weights of a model, apart from those of the layers (or optimizers) in `skip`."""
    keras.saving.save_weights(model, str(path), objects_to_skip=skip)


def load_weights(folder: Path, name: str, model: keras.Model, skip: list) -> None:
    """Read what `save_weights` wrote, turning what goes wrong into one clear error.

    Raises:
        CheckpointError: if the file is missing, truncated or does not fit the model.
    """
    path = folder / name
    if not path.is_file():
        raise CheckpointError(f"{path} is missing. Save or fetch the preset again.")
    try:
        with h5py.File(path, "r"):
            pass
    except OSError as error:
        raise CheckpointError(
            f"{path} is truncated or no HDF5 file ({error}). Save or fetch the preset again."
        ) from error
    try:
        keras.saving.load_weights(model, str(path), objects_to_skip=skip)
    except (ValueError, KeyError, OSError) as error:
        raise CheckpointError(
            f"The weights in {path} do not fit the model that {folder / CONFIG_FILE} describes: "
            f"{error}"
        ) from error
