"""What a preset's name stands for: a built-in name, a folder of some layout, or a hub's handle."""

from __future__ import annotations

import dataclasses
import importlib
import os
from pathlib import Path
from typing import Any

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.json_files import read_json
from kerasbert.checkpoints.sentence_transformers import encoder_folder
from kerasbert.checkpoints.tensorflow_files import has_checkpoint
from kerasbert.families import Family, Preset, find_preset
from kerasbert.families.google import CONFIG_FILES as GOOGLE_CONFIG_FILES

CONFIG_FILE = "config.json"

# What is fetched of a Hugging Face repository: weights once, in their best format.
_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
_HF_PATTERNS = (
    *("*.json", "*.txt", "*.model"),
    *_WEIGHTS,
    # Folders of sentence-transformers keep those of further modules apart.
    *(f"*_{module}/{name}" for module in ("Transformer", "Dense") for name in _WEIGHTS),
)


@dataclasses.dataclass(frozen=True)
class Source:
    """Where to load from.

    Args:
        layout: `"kerasbert"`, `"transformers"`, `"keras_hub"`, `"google"` (TF 1 checkpoints), or
            `"built-in"` for an architecture without files.
        folder: the local folder, `None` for `"built-in"`.
        config: the contents of its `config.json`, or of the file that Google has instead.
        family: the family of a built-in preset.
        preset: the built-in preset.
    """

    layout: str
    folder: Path | None = None
    config: dict[str, Any] = dataclasses.field(default_factory=dict)
    family: Family | None = None
    preset: Preset | None = None


def resolve(preset: str | os.PathLike, load_weights: bool = True) -> Source:
    """Find what `preset` names, fetching it from its hub where it must be.

    Args:
        preset: a built-in name, a folder, or an `hf://` or `kaggle://` handle.
        load_weights: whether weights are wanted; a built-in preset needs no files without them.

    Raises:
        ValueError: for an unknown name (it lists near ones) or a folder that is no preset.
        ImportError: if the library that fetches from the hub is missing.
        OSError: if the hub cannot be reached or has nothing under this handle.
    """
    name = os.fspath(preset)
    if os.path.isdir(name):
        return _local(Path(name))
    if "://" in name:
        return _local(_fetch(name))
    if os.sep in name or name.startswith((".", "~")):
        raise ValueError(
            "There is no such folder. Give an existing folder, a built-in preset (see "
            "`kerasbert.list_presets()`) or an `hf://` or `kaggle://` handle. "
            f"Received: preset={name!r}"
        )
    family, found = find_preset(name)
    if load_weights:
        return _local(_fetch(found.handle))
    return Source("built-in", family=family, preset=found)


def _local(folder: Path) -> Source:
    folder = encoder_folder(folder)
    if not (folder / CONFIG_FILE).is_file() and has_checkpoint(folder):
        return Source("google", folder, _read_google_config(folder))
    config = _read_config(folder)
    if str(config.get("registered_name", "")).startswith("kerasbert>"):
        return Source("kerasbert", folder, config)
    if "keras_hub" in str(config.get("module", "")) or "keras_nlp" in str(config.get("module", "")):
        return Source("keras_hub", folder, config)
    if "model_type" in config:
        return Source("transformers", folder, config)
    raise CheckpointError(
        f"{folder / CONFIG_FILE} is of no known layout: it has neither `model_type` (Hugging Face) "
        "nor `registered_name` (Keras). Give a folder written by kerasbert, transformers or "
        "KerasHub."
    )


def _read_google_config(folder: Path) -> dict[str, Any]:
    """Empty for ELECTRA, which was released without a configuration."""
    found = [folder / name for name in GOOGLE_CONFIG_FILES if (folder / name).is_file()]
    return read_json(found[0]) if found else {}


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG_FILE
    if not path.is_file():
        present = sorted(entry.name for entry in folder.iterdir())[:10]
        raise CheckpointError(
            f"{folder} has no {CONFIG_FILE} and no TensorFlow checkpoint, so it is no preset. Give "
            f"a folder written by kerasbert, transformers or KerasHub. It holds: {present}"
        )
    return read_json(path)


def _fetch(handle: str) -> Path:
    scheme, _, rest = handle.partition("://")
    if scheme not in ("hf", "kaggle"):
        raise ValueError(f"Handles start with `hf://` or `kaggle://`. Received: preset={handle!r}")
    hub = _import("huggingface_hub" if scheme == "hf" else "kagglehub", handle)
    try:
        if scheme == "hf":
            return Path(hub.snapshot_download(rest, allow_patterns=list(_HF_PATTERNS)))
        return Path(hub.model_download(rest))
    except OSError as error:  # of the network or of the hub, in both libraries
        raise OSError(
            f"Could not fetch {handle}: {error}. Check the name and the connection, or give a "
            "folder that holds its files."
        ) from error


def _import(module: str, handle: str):
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(
            f"Loading {handle!r} needs {module}. Install it: `pip install {module}`"
        ) from error
