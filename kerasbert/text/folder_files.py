"""Reading the small files of a tokenizer's folder, and what is said about those that are broken."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kerasbert.text.special_tokens import check_special_tokens, content, named_tokens


def read_config(folder: Path) -> dict[str, Any]:
    """`tokenizer_config.json`, completed by the files that older versions wrote beside it.

    Raises:
        ValueError: A file cannot be understood.
    """
    config = read_json_object(folder / "tokenizer_config.json")
    special = read_json_object(folder / "special_tokens_map.json")
    config = {**special, **{key: value for key, value in config.items() if value is not None}}
    added = read_json_object(folder / "added_tokens.json")
    try:
        if added and "added_tokens_decoder" not in config:
            named = named_tokens(config)
            config["added_tokens_decoder"] = {
                str(index): {
                    "content": token,
                    "special": token in named,
                    "normalized": token not in named,
                }
                for token, index in added.items()
            }
        check_special_tokens(config)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise unreadable(folder / "tokenizer_config.json", repr(error)) from error
    return config


def read_json_object(file: Path) -> dict[str, Any]:
    """The content of a JSON file that holds an object; empty where there is no such file.

    Raises:
        ValueError: The file holds something else.
    """
    if not file.is_file():
        return {}
    try:
        found = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise unreadable(file, str(error)) from error
    if not isinstance(found, dict):
        raise unreadable(file, f"expected an object, found {type(found).__name__}")
    return found


def read_text(file: Path) -> str:
    """The content of a UTF-8 file, line ends as they are.

    Raises:
        ValueError: The file cannot be read.
    """
    try:
        return file.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise unreadable(file, str(error)) from error


def check_has(vocabulary: Mapping[str, int], config: Mapping[str, Any], file: Path) -> None:
    """Raises an error where a vocabulary lacks the tokens that no text goes without."""
    needed = [content(config[role]) for role in ("unk_token", "cls_token", "sep_token")]
    missing = [token for token in needed if token not in vocabulary]
    if missing:
        raise unreadable(file, f"the vocabulary of {len(vocabulary)} tokens lacks {missing}")


def unreadable(file: Path, reason: str) -> ValueError:
    """The error about a file whose content is not what its name says."""
    return ValueError(
        "This tokenizer file cannot be read; it may be incomplete or of another kind. "
        f"Fetch it again. Received: file={str(file)!r} ({reason})."
    )
