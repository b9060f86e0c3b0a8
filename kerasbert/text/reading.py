"""From a folder of tokenizer files to a Rust tokenizer.

What each layout means (which normalizer, which model, which template of special tokens) is taken
from the papers' released code: BERT's WordPiece, GPT-2's byte-level BPE in RoBERTa's arrangement,
and SentencePiece's unigram model in ALBERT's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as RustTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from kerasbert.text.sentencepiece_file import read_sentencepiece
from kerasbert.text.special_tokens import (
    ALBERT_SPECIAL_TOKENS,
    BERT_SPECIAL_TOKENS,
    ROBERTA_SPECIAL_TOKENS,
    check_special_tokens,
    content,
    declare_special_tokens,
    find_roles,
)

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
        folder: Holds `assets/tokenizer/tokenizer.json`, or `tokenizer.json`, or `vocab.txt`, or
            `vocab.json` with `merges.txt`, or `spiece.model`; the first of them that is there is
            read, with `tokenizer_config.json` beside it.

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
    given = _read_config(folder)
    for names, (read, usual_roles) in _LAYOUTS.items():
        if all((folder / name).is_file() for name in names):
            config = {**usual_roles, **given}
            return _finish(read(folder, config), config)
    raise ValueError(
        "This folder has no tokenizer files that can be read. Supported are "
        + ", ".join(" with ".join(f"`{name}`" for name in names) for names in _LAYOUTS)
        + f". Received: folder={str(folder)!r} with {_shown_names(folder)}."
    )


def has_tokenizer(folder: str | os.PathLike) -> bool:
    """Whether `read_folder` would find tokenizer files in a folder."""
    folder = Path(folder)
    return (folder / ASSETS / "tokenizer.json").is_file() or any(
        all((folder / name).is_file() for name in names) for names in _LAYOUTS
    )


def word_piece(
    vocabulary: Mapping[str, int],
    lowercase: bool = True,
    strip_accents: bool | None = None,
    split_chinese_characters: bool = True,
    special_tokens: Mapping[str, Any] = BERT_SPECIAL_TOKENS,
) -> RustTokenizer:
    """BERT's tokenizer (Devlin et al., 2018): basic tokenization, then WordPiece.

    Args:
        vocabulary: Ids by token, special tokens included (padding and mask may be missing).
        lowercase: Whether text is lowercased.
        strip_accents: Whether accents are removed. `None` (default): where text is lowercased.
        split_chinese_characters: Whether each Chinese character is a word of its own.
        special_tokens: The special tokens by role, as `tokenizer_config.json` has them.
    """
    unknown = content(special_tokens["unk_token"])
    rust = RustTokenizer(models.WordPiece(dict(vocabulary), unk_token=unknown))
    rust.normalizer = normalizers.BertNormalizer(
        clean_text=True,
        handle_chinese_chars=split_chinese_characters,
        strip_accents=strip_accents,
        lowercase=lowercase,
    )
    rust.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    rust.decoder = decoders.WordPiece(prefix="##")
    rust.post_processor = _bert_template(rust, special_tokens)
    declare_special_tokens(rust, special_tokens)
    return rust


def _bert_template(rust: RustTokenizer, roles: Mapping[str, Any]) -> processors.PostProcessor:
    start, end = content(roles["cls_token"]), content(roles["sep_token"])
    return processors.TemplateProcessing(
        single=f"{start}:0 $A:0 {end}:0",
        pair=f"{start}:0 $A:0 {end}:0 $B:1 {end}:1",
        special_tokens=[(token, rust.token_to_id(token)) for token in {start, end}],
    )


def _read_tokenizer_json(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    file = folder / "tokenizer.json"
    text = _read_text(file)
    try:
        return RustTokenizer.from_str(text)
    except Exception as error:  # The Rust library raises plain `Exception`s.
        raise _unreadable(file, str(error)) from error


def _read_word_piece(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    file = folder / "vocab.txt"
    _check_class(file, config, _WORD_PIECE_CLASSES)
    lines = _read_text(file).split("\n")
    if lines[-1] == "":  # The last line ends with a newline too.
        lines.pop()
    vocabulary = {line.rstrip("\r"): index for index, line in enumerate(lines)}
    _check_has(vocabulary, config, file)
    return word_piece(
        vocabulary,
        lowercase=config.get("do_lower_case", True),
        strip_accents=config.get("strip_accents"),
        split_chinese_characters=config.get("tokenize_chinese_chars", True),
        special_tokens=config,
    )


def _read_byte_level_bpe(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    file = folder / "vocab.json"
    _check_class(file, config, _BYTE_LEVEL_CLASSES)
    try:
        model = models.BPE.from_file(str(file), str(folder / "merges.txt"))
    except Exception as error:  # The Rust library raises plain `Exception`s.
        raise _unreadable(file, f"or its merges.txt: {error}") from error
    rust = RustTokenizer(model)
    _check_has(rust.get_vocab(), config, file)
    add_prefix_space = config.get("add_prefix_space", False)
    rust.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    rust.decoder = decoders.ByteLevel()
    start, end = content(config["cls_token"]), content(config["sep_token"])
    rust.post_processor = processors.RobertaProcessing(
        (end, rust.token_to_id(end)),
        (start, rust.token_to_id(start)),
        trim_offsets=config.get("trim_offsets", True),
        add_prefix_space=add_prefix_space,
    )
    return rust


def _read_albert(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    file = folder / "spiece.model"
    _check_class(file, config, _ALBERT_CLASSES)
    try:
        pieces = read_sentencepiece(file.read_bytes())
        rust = RustTokenizer(models.Unigram(pieces.scores, unk_id=pieces.unknown_id))
    except Exception as error:  # The Rust library raises plain `Exception`s.
        raise _unreadable(file, str(error)) from error
    _check_has(rust.get_vocab(), config, file)
    rust.normalizer = normalizers.Sequence(_albert_normalizers(config, pieces.character_map))
    rust.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    rust.decoder = decoders.Metaspace()
    rust.post_processor = _bert_template(rust, config)
    declare_special_tokens(rust, {**config, "extra_special_tokens": pieces.added_tokens})
    return rust


def _albert_normalizers(config: Mapping[str, Any], character_map: bytes) -> list:
    steps = [normalizers.Replace("``", '"'), normalizers.Replace("''", '"')]
    if not config.get("keep_accents", False):
        steps += [normalizers.NFKD(), normalizers.StripAccents()]
    if config.get("do_lower_case", True):
        steps.append(normalizers.Lowercase())
    if character_map:
        steps.append(normalizers.Precompiled(character_map))
    return steps


# Other classes keep other rules (or a word segmenter) in files of the same names.
_WORD_PIECE_CLASSES = {"BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer"}
_BYTE_LEVEL_CLASSES = {"RobertaTokenizer", "LongformerTokenizer"}
_ALBERT_CLASSES = {"AlbertTokenizer"}
# Per set of files: how they are read, and the special tokens where the config names no others.
_Reader = Callable[[Path, Mapping[str, Any]], RustTokenizer]
_LAYOUTS: dict[tuple[str, ...], tuple[_Reader, Mapping[str, str]]] = {
    ("tokenizer.json",): (_read_tokenizer_json, {}),
    ("vocab.txt",): (_read_word_piece, BERT_SPECIAL_TOKENS),
    ("vocab.json", "merges.txt"): (_read_byte_level_bpe, ROBERTA_SPECIAL_TOKENS),
    ("spiece.model",): (_read_albert, ALBERT_SPECIAL_TOKENS),
}


def _finish(rust: RustTokenizer, config: Mapping[str, Any]) -> TokenizerParts:
    # Settings of whoever saved the file, which would cut or pad every text in silence.
    rust.no_truncation()
    rust.no_padding()
    declare_special_tokens(rust, config)
    return TokenizerParts(rust, find_roles(rust, config))


def _read_config(folder: Path) -> dict[str, Any]:
    """`tokenizer_config.json`, completed by the files that older versions wrote beside it."""
    config = _read_json_object(folder / "tokenizer_config.json")
    special = _read_json_object(folder / "special_tokens_map.json")
    config = {**special, **{key: value for key, value in config.items() if value is not None}}
    added = _read_json_object(folder / "added_tokens.json")
    if added and "added_tokens_decoder" not in config:
        config["added_tokens_decoder"] = {
            str(index): {"content": token, "special": False, "normalized": True}
            for token, index in added.items()
        }
    try:
        check_special_tokens(config)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable(folder / "tokenizer_config.json", repr(error)) from error
    return config


def _read_json_object(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        content = json.loads(_read_text(file))
    except json.JSONDecodeError as error:
        raise _unreadable(file, str(error)) from error
    if not isinstance(content, dict):
        raise _unreadable(file, f"expected an object, found {type(content).__name__}")
    return content


def _read_text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, str(error)) from error


def _check_class(file: Path, config: Mapping[str, Any], known: set[str]) -> None:
    name = config.get("tokenizer_class")
    generic = {"PreTrainedTokenizer", "TokenizersBackend"}
    if name is not None and name.removesuffix("Fast") not in known | generic:
        raise ValueError(
            f"`{file.name}` of this tokenizer class cannot be read. Save the tokenizer as "
            f"`tokenizer.json` with transformers first; supported here are {sorted(known)}. "
            f"Received: tokenizer_class={name!r} in {str(file.parent)!r}."
        )


def _check_has(vocabulary: Mapping[str, int], config: Mapping[str, Any], file: Path) -> None:
    needed = [content(config[role]) for role in ("unk_token", "cls_token", "sep_token")]
    missing = [token for token in needed if token not in vocabulary]
    if missing:
        raise _unreadable(file, f"the vocabulary of {len(vocabulary)} tokens lacks {missing}")


def _unreadable(file: Path, reason: str) -> ValueError:
    return ValueError(
        "This tokenizer file cannot be read; it may be incomplete or of another kind. "
        f"Fetch it again. Received: file={str(file)!r} ({reason})."
    )


def _shown_names(folder: Path, limit: int = 10) -> str:
    names = sorted(entry.name for entry in folder.iterdir())
    rest = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"{names[:limit]}{rest}"
