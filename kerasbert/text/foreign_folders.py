"""Tokenizers in the folders of KerasHub's presets and of Google's TF 1 releases.

They hold the same vocabularies as Hugging Face's under other names, and say elsewhere (or nowhere)
how text is normalised. Here they are put into Hugging Face's layout, which the readers know.
"""

from __future__ import annotations

import contextlib
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kerasbert.text.folder_files import read_text

_KERAS_HUB_CONFIG = "tokenizer.json"  # Hugging Face has another file of this name
_KERAS_HUB_ASSETS = Path("assets", "tokenizer")


@dataclass(frozen=True)
class _Kind:
    """One of KerasHub's tokenizer classes.

    Attributes:
        tokenizer_class: Hugging Face's class that computes the same.
        files: Names of its files under `assets/tokenizer`, and those that Hugging Face has.
        settings: Entries of `tokenizer_config.json` that are the same for all of the kind.
        fields: Entries that the KerasHub configuration gives, by its names.
    """

    tokenizer_class: str
    files: Mapping[str, str]
    settings: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, str] = field(default_factory=dict)


_WORD_PIECE = _Kind(
    "BertTokenizer",
    {"vocabulary.txt": "vocab.txt"},
    fields={"lowercase": "do_lower_case", "strip_accents": "strip_accents"},
)
_KERAS_HUB_KINDS = {
    "BertTokenizer": _WORD_PIECE,
    "DistilBertTokenizer": _WORD_PIECE,
    "ElectraTokenizer": _WORD_PIECE,
    "RobertaTokenizer": _Kind(
        "RobertaTokenizer",
        {"vocabulary.json": "vocab.json", "merges.txt": "merges.txt"},
        fields={"add_prefix_space": "add_prefix_space"},
    ),
    # KerasHub leaves all normalisation to the SentencePiece file.
    "AlbertTokenizer": _Kind(
        "AlbertTokenizer",
        {"vocabulary.spm": "spiece.model"},
        settings={"do_lower_case": False, "keep_accents": True},
    ),
    "XLMRobertaTokenizer": _Kind(
        "XLMRobertaTokenizer", {"vocabulary.spm": "sentencepiece.bpe.model"}
    ),
    "DebertaV3Tokenizer": _Kind("DebertaV2Tokenizer", {"vocabulary.spm": "spm.model"}),
}


def is_foreign(folder: Path) -> bool:
    """Whether a folder has a tokenizer in KerasHub's or Google's layout."""
    return bool(_keras_hub_config(folder)) or _google_vocabulary(folder) is not None


@contextlib.contextmanager
def in_hugging_face_layout(folder: Path) -> Iterator[Path]:
    """A folder that `is_foreign` as a temporary one in Hugging Face's layout, for a `with` block.

    Raises:
        ValueError: The tokenizer is of a kind that is not supported, or a file of it is missing.
    """
    config = _keras_hub_config(folder)
    files, settings = _of_keras_hub(folder, config) if config else _of_google(folder)
    with tempfile.TemporaryDirectory() as temporary:
        target = Path(temporary)
        for name, source in files.items():
            shutil.copyfile(source, target / name)
        (target / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")
        yield target


def _keras_hub_config(folder: Path) -> dict[str, Any]:
    """The content of KerasHub's `tokenizer.json`; empty where it is not KerasHub's."""
    try:
        data = json.loads((folder / _KERAS_HUB_CONFIG).read_text(encoding="utf-8"))
        is_theirs = data["registered_name"].startswith(("keras_hub>", "keras_nlp>"))
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}
    return data if is_theirs else {}


def _of_keras_hub(folder: Path, config: Mapping[str, Any]):
    kind = _KERAS_HUB_KINDS.get(config.get("class_name"))
    if kind is None:
        raise ValueError(
            f"{folder / _KERAS_HUB_CONFIG} is of a KerasHub tokenizer that is not supported. "
            f"Supported are {sorted(_KERAS_HUB_KINDS)}. "
            f"Received: class_name={config.get('class_name')!r}."
        )
    assets = folder / _KERAS_HUB_ASSETS
    missing = [name for name in kind.files if not (assets / name).is_file()]
    if missing:
        raise ValueError(
            f"The tokenizer of this KerasHub preset lacks {missing} in {str(assets)!r}. Save or "
            "fetch the preset again."
        )
    values = config.get("config", {})
    given = {theirs: values[name] for name, theirs in kind.fields.items() if name in values}
    files = {theirs: assets / name for name, theirs in kind.files.items()}
    return files, {"tokenizer_class": kind.tokenizer_class, **kind.settings, **given}


def _google_vocabulary(folder: Path) -> Path | None:
    """The vocabulary beside a TF 1 checkpoint, such as `vocab.txt` or `30k-clean.model`."""
    if (folder / "config.json").is_file() or not any(folder.glob("*.index")):
        return None
    return next((file for kind in ("vocab*.txt", "*.model") for file in folder.glob(kind)), None)


def _of_google(folder: Path):
    vocabulary = _google_vocabulary(folder)
    if vocabulary.suffix == ".model":
        return {"spiece.model": vocabulary}, {"tokenizer_class": "AlbertTokenizer"}
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": not _is_cased(vocabulary)}
    return {"vocab.txt": vocabulary}, settings


def _is_cased(vocabulary: Path) -> bool:
    """Whether capitals occur in a vocabulary: the releases say it in their names only.

    Of the words of BERT's cased vocabularies, a third have capitals.
    """
    words = [word for word in read_text(vocabulary).split() if not word.startswith("[")]
    return sum(bool(re.search("[A-Z]", word)) for word in words) > len(words) / 100
