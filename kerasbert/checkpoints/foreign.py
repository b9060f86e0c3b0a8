"""The folders of other libraries, whichever it is, behind one interface."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from kerasbert.checkpoints.filling import NamedWeights
from kerasbert.checkpoints.google import GoogleFolder
from kerasbert.checkpoints.hugging_face import HuggingFaceFolder
from kerasbert.checkpoints.keras_hub import KerasHubFolder
from kerasbert.checkpoints.saved_head import SavedHead
from kerasbert.checkpoints.sources import Source
from kerasbert.families import Family
from kerasbert.families.names import Row
from kerasbert.layers import EncoderConfig


class ForeignFolder(Protocol):
    """A checkpoint of another library, read as far as its configuration."""

    family: Family
    config: EncoderConfig

    def weights(self) -> AbstractContextManager[NamedWeights]: ...

    @property
    def encoder_rows(self) -> tuple[Row, ...]: ...

    @property
    def copies(self) -> tuple[Row, ...]: ...

    def head_rows(self, task: str) -> Iterable[Row]: ...

    def head(self, task: str) -> SavedHead | None: ...


_LAYOUTS = {
    "transformers": HuggingFaceFolder,
    "keras_hub": KerasHubFolder,
    "google": GoogleFolder,
}


def is_foreign(source: Source) -> bool:
    """Whether a source is a folder of another library."""
    return source.layout in _LAYOUTS


def open_foreign(source: Source, task: str | None = None) -> ForeignFolder:
    """Reads a folder of another library as far as its configuration.

    Args:
        source: where to read; a source that `is_foreign`.
        task: the task that it is wanted for, which matters where a folder holds several networks
            (ELECTRA's discriminator and generator in Google's releases).

    Raises:
        ValueError: for a model that is not supported, or a file that is broken.
    """
    return _LAYOUTS[source.layout].open(source, task)
