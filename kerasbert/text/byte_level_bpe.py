"""Byte-level BPE (GPT-2's) from `vocab.json` and `merges.txt`: RoBERTa's and DeBERTa's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as RustTokenizer
from tokenizers import decoders, models, pre_tokenizers

from kerasbert.text.folder_files import check_has, read_text, unreadable
from kerasbert.text.post_processing import template, trimmed_template
from kerasbert.text.special_tokens import (
    DEBERTA_SPECIAL_TOKENS,
    ROBERTA_SPECIAL_TOKENS,
    declare_special_tokens,
)


def _read_roberta(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    rust = _read_bpe(folder, config)
    rust.post_processor = trimmed_template(
        rust,
        config,
        trim_offsets=config.get("trim_offsets", True),
        add_prefix_space=config.get("add_prefix_space", False),
    )
    return rust


def _read_deberta(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    rust = _read_bpe(folder, config)
    rust.post_processor = template(rust, config, roberta_pairs=True)
    return rust


def _read_bpe(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    vocabulary_file, merges_file = folder / "vocab.json", folder / "merges.txt"
    try:
        model = models.BPE.from_file(str(vocabulary_file), str(merges_file))
    except Exception as error:  # The Rust library raises plain `Exception`s.
        raise unreadable(vocabulary_file, f"or its merges.txt: {error}") from error
    rust = RustTokenizer(model)
    vocabulary = rust.get_vocab()
    check_has(vocabulary, config, vocabulary_file)
    _check_merges(merges_file, vocabulary)
    rust.pre_tokenizer = pre_tokenizers.ByteLevel(
        add_prefix_space=config.get("add_prefix_space", False)
    )
    rust.decoder = decoders.ByteLevel()
    declare_special_tokens(rust, config)
    return rust


def _check_merges(file: Path, vocabulary: Mapping[str, int]) -> None:
    """Refuses a file that was cut off: without its merges, tokens never come about."""
    lines = read_text(file).split("\n")
    merged = {line.rstrip("\r").replace(" ", "") for line in lines}
    tokens = [token for token in vocabulary if len(token) > 1]
    reached = sum(token in merged for token in tokens)
    # Complete files lack merges for special tokens only, and for a few that were never used.
    if reached < len(tokens) / 2:
        raise unreadable(file, f"it has merges for {reached} of the {len(tokens)} longer tokens")


BYTE_LEVEL_CLASSES = {
    "RobertaTokenizer": (_read_roberta, ROBERTA_SPECIAL_TOKENS),
    "DebertaTokenizer": (_read_deberta, DEBERTA_SPECIAL_TOKENS),
}
