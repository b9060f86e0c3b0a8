"""From a folder of tokenizer files to a Rust tokenizer.

What each layout means (which normalizer, which model, which template of special tokens) is taken
from the papers' released code and from `transformers`; each kind of model has a module of its own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as RustTokenizer
from tokenizers import models

from kerasbert.text.byte_level_bpe import BYTE_LEVEL_CLASSES
from kerasbert.text.exact_scores import exact_unigram
from kerasbert.text.folder_files import read_config, read_json_object, read_text, unreadable
from kerasbert.text.foreign_folders import in_hugging_face_layout, is_foreign
from kerasbert.text.special_tokens import declare_special_tokens, find_roles, with_usual_tokens
from kerasbert.text.unigram import UNIGRAM_CLASSES
from kerasbert.text.word_piece import WORD_PIECE_CLASSES

# Inside a preset, where the root's `tokenizer.json` is the Keras configuration.
ASSETS = Path("assets", "tokenizer")


@dataclass(frozen=True)
class TokenizerParts:
    """A Rust tokenizer and the tokens that play a part in it."""

    rust: RustTokenizer
    roles: dict[str, str]


def read_folder(folder: str | os.PathLike) -> TokenizerParts:
    """Reads the tokenizer of a preset folder or of a Hugging Face one.

    Args:
        folder: Holds `assets/tokenizer/tokenizer.json`, or `tokenizer.json`, or the vocabulary
            files of a family: `vocab.txt`, `vocab.json` with `merges.txt`, `spiece.model`,
            `sentencepiece.bpe.model` or `spm.model`. The first of them that is there is read.
            Where families share names of files, `tokenizer_config.json` or else `config.json`
            beside them says which family it is.

    Raises:
        ValueError: The folder or its tokenizer files are missing or cannot be understood.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(
            "There is no such folder to read a tokenizer from. "
            f"Give the path of a folder with tokenizer files. Received: folder={str(folder)!r}."
        )
    if (folder / ASSETS / "tokenizer.json").is_file():
        folder = folder / ASSETS
    if is_foreign(folder):
        with in_hugging_face_layout(folder) as temporary:
            return read_folder(temporary)
    given = read_config(folder)
    if (folder / "tokenizer.json").is_file():
        return _finish(_read_tokenizer_json(folder, given), given)
    names = _present_layout(folder)
    if names is None:
        layouts = [("tokenizer.json",), *_LAYOUTS]
        raise ValueError(
            "This folder has no tokenizer files that can be read. Supported are "
            + ", ".join(" with ".join(f"`{name}`" for name in names) for names in layouts)
            + f". Received: folder={str(folder)!r} with {_shown_names(folder)}."
        )
    read, usual_tokens = _CLASSES[_class_of(folder, given, names)]
    config = with_usual_tokens(given, usual_tokens)
    return _finish(read(folder, config), config)


def has_tokenizer(folder: str | os.PathLike) -> bool:
    """Whether `read_folder` would find tokenizer files in a folder."""
    folder = Path(folder)
    candidates = (folder / ASSETS / "tokenizer.json", folder / "tokenizer.json")
    is_present = any(file.is_file() for file in candidates) or is_foreign(folder)
    return is_present or _present_layout(folder) is not None


_Reader = Callable[[Path, Mapping[str, Any]], RustTokenizer]
# By tokenizer class: how its files are read, and the special tokens where the config has no others.
_CLASSES: dict[str, tuple[_Reader, Mapping[str, Any]]] = {
    **WORD_PIECE_CLASSES,
    **BYTE_LEVEL_CLASSES,
    **UNIGRAM_CLASSES,
}
# By the names of the files: the classes that have them. The first is meant where nothing says.
_LAYOUTS = {
    ("vocab.txt",): ("BertTokenizer", "MPNetTokenizer"),
    ("vocab.json", "merges.txt"): ("RobertaTokenizer", "DebertaTokenizer"),
    ("spiece.model",): ("AlbertTokenizer", "BigBirdTokenizer"),
    ("sentencepiece.bpe.model",): ("XLMRobertaTokenizer", "CamembertTokenizer"),
    ("spm.model",): ("DebertaV2Tokenizer",),
}
_SAME_RULES = {
    "DistilBertTokenizer": "BertTokenizer",
    "ElectraTokenizer": "BertTokenizer",
    "ErnieTokenizer": "BertTokenizer",
    "MobileBertTokenizer": "BertTokenizer",
    "LongformerTokenizer": "RobertaTokenizer",
}
# Only those whose class is not the first of a layout.
_CLASS_OF_MODEL_TYPE = {
    "mpnet": "MPNetTokenizer",
    "deberta": "DebertaTokenizer",
    "big_bird": "BigBirdTokenizer",
    "camembert": "CamembertTokenizer",
}
# These say nothing about the rules.
_GENERIC_CLASSES = {"PreTrainedTokenizer", "TokenizersBackend"}


def _present_layout(folder: Path) -> tuple[str, ...] | None:
    for names in _LAYOUTS:
        if all((folder / name).is_file() for name in names):
            return names
    return None


def _class_name(folder: Path, config: Mapping[str, Any]) -> str | None:
    """The tokenizer class that a folder's files name, if any."""
    model_config = read_json_object(folder / "config.json")
    name = config.get("tokenizer_class") or model_config.get("tokenizer_class")
    return None if name is None else str(name).removesuffix("Fast")


def _class_of(folder: Path, config: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """The tokenizer class whose rules hold for a folder's files."""
    known, name = _LAYOUTS[names], _class_name(folder, config)
    if name is None or name in _GENERIC_CLASSES:
        model_type = read_json_object(folder / "config.json").get("model_type")
        by_model = _CLASS_OF_MODEL_TYPE.get(str(model_type))
        return by_model if by_model in known else known[0]
    name = _SAME_RULES.get(name, name)
    if name not in known:
        # Other classes keep other rules (or a word segmenter) in files of the same names.
        same = [alias for alias, meant in _SAME_RULES.items() if meant in known]
        raise ValueError(
            f"`{names[0]}` of this tokenizer class cannot be read. Save the tokenizer as "
            "`tokenizer.json` with transformers first; supported here are "
            f"{sorted([*known, *same])}. "
            f"Received: tokenizer_class={name!r} in {str(folder)!r}."
        )
    return name


def _read_tokenizer_json(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    file = folder / "tokenizer.json"
    text = read_text(file)
    try:
        rust = RustTokenizer.from_str(text)
        # In `transformers` only the generic classes leave it to Rust to read the scores.
        is_generic = _class_name(folder, config) in _GENERIC_CLASSES
        if isinstance(rust.model, models.Unigram) and not is_generic:
            rust.model = exact_unigram(json.loads(text)["model"])
    except Exception as error:  # The Rust library raises plain `Exception`s.
        raise unreadable(file, str(error)) from error
    declare_special_tokens(rust, config)
    return rust


def _finish(rust: RustTokenizer, config: Mapping[str, Any]) -> TokenizerParts:
    # Settings of whoever saved the file, which would cut or pad every text in silence.
    rust.no_truncation()
    rust.no_padding()
    return TokenizerParts(rust, find_roles(rust, config))


def _shown_names(folder: Path, limit: int = 10) -> str:
    names = sorted(entry.name for entry in folder.iterdir())
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{names[:limit]}{rest}"
