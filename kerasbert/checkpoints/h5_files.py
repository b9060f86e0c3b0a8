"""The weights that Keras stores as HDF5 files, whole or in shards."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import h5py
import numpy as np

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.json_files import read_json
from kerasbert.checkpoints.weight_files import WeightFiles

SHARDS_FILE = "model.weights.json"


def open_h5_weights(files: Mapping[str, Path]) -> WeightFiles:
    """Opens files that `keras.Model.save_weights` wrote.

    A weight's key is its path in the file, such as `layers/dense_0/vars/0`, made the same for all
    versions of Keras: siblings of one class are numbered from 0 (Keras leaves the first without a
    number), and no attribute's name begins with an underscore.

    Args:
        files: what the keys of each file begin with, and the file. Where `model.weights.h5` is
            missing, the shards that `model.weights.json` beside it names are opened instead.

    Raises:
        CheckpointError: A file is missing, or cut short, or no HDF5 file.
    """
    opened: dict[Path, H5File] = {}
    paths: dict[str, Path] = {}
    try:
        for prefix, path in files.items():
            for shard in _shards(path):
                opened[shard] = H5File(shard, prefix)
                paths.update(dict.fromkeys(opened[shard].shapes, shard))
    except BaseException:
        WeightFiles(opened, paths).close()
        raise
    return WeightFiles(opened, paths)


class H5File:
    """One HDF5 file; its weights by normalised key."""

    def __init__(self, path: Path, prefix: str = ""):
        try:
            self._file = h5py.File(path, "r")
        except OSError as error:
            raise CheckpointError(
                f"{path} is cut short or no HDF5 file ({error}). Save or fetch the preset again."
            ) from error
        self._datasets: dict[str, h5py.Dataset] = {}
        try:
            self._file.visititems(lambda name, item: self._add(prefix, name, item))
        except BaseException:
            self._file.close()
            raise
        self.shapes = {key: tuple(item.shape) for key, item in self._datasets.items()}

    def _add(self, prefix: str, name: str, item: h5py.Group | h5py.Dataset) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        if item.external or item.is_virtual:
            raise CheckpointError(
                f"{self._file.filename} keeps {name} in another file, which is not read. Save the "
                "preset anew with Keras."
            )
        self._datasets[prefix + _normalized(name)] = item

    def read(self, key: str) -> np.ndarray:
        dataset = self._datasets[key]
        if dataset.attrs.get("dtype") != "bfloat16":
            return dataset[()]
        # HDF5 has no bfloat16: Keras stores the bits. They are the upper half of a float32.
        bits = np.asarray(dataset[()]).view(np.uint16).reshape(dataset.shape)
        return (bits.astype(np.uint32) << 16).view(np.float32)

    def close(self) -> None:
        self._file.close()


def _normalized(name: str) -> str:
    first, *rest = name.split("/")
    if first == "_layer_checkpoint_dependencies":  # what the first versions of Keras 3 wrote
        first = "layers"
    if first == "layers" and not re.search(r"_\d+$", rest[0]):
        rest[0] += "_0"
    return "/".join([first, *(part.lstrip("_") for part in rest)])


def _shards(path: Path) -> list[Path]:
    index = path.with_name(SHARDS_FILE)
    if path.is_file():
        return [path]
    if not index.is_file():
        raise CheckpointError(f"{path} is missing. Save or fetch the preset again.")
    places = read_json(index).get("weight_map")
    if not isinstance(places, dict) or not places:
        raise CheckpointError(f"{index} has no `weight_map`. Save or fetch the preset again.")
    names = sorted({name for place in places.values() for name in _as_list(place)})
    if any(Path(name).name != name for name in names):
        raise CheckpointError(f"{index} names files outside its folder. Fetch the preset again.")
    shards = [path.with_name(name) for name in names]
    missing = [shard.name for shard in shards if not shard.is_file()]
    if missing:
        raise CheckpointError(
            f"{index} names shards that are missing: {missing[:5]}. Save or fetch the preset again."
        )
    return shards


def _as_list(place: str | list[str]) -> list[str]:
    """A group lies in one shard, or its variables in several."""
    return [place] if isinstance(place, str) else place
