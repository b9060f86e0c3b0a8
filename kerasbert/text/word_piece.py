"""WordPiece tokenizers: `vocab.txt` as BERT has it, and in MPNet's arrangement."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as RustTokenizer
from tokenizers import decoders, models, normalizers, pre_tokenizers

from kerasbert.text.folder_files import check_has, read_text
from kerasbert.text.post_processing import template, trimmed_template
from kerasbert.text.special_tokens import (
    BERT_SPECIAL_TOKENS,
    MPNET_SPECIAL_TOKENS,
    content,
    declare_special_tokens,
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
    rust.post_processor = template(rust, special_tokens)
    declare_special_tokens(rust, special_tokens)
    return rust


def _read_bert(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    file = folder / "vocab.txt"
    lines = read_text(file).split("\n")
    if lines[-1] == "":  # The last line ends with a newline too.
        lines.pop()
    vocabulary = {line.rstrip("\r"): index for index, line in enumerate(lines)}
    check_has(vocabulary, config, file)
    return word_piece(
        vocabulary,
        lowercase=config.get("do_lower_case", True),
        strip_accents=config.get("strip_accents"),
        split_chinese_characters=config.get("tokenize_chinese_chars", True),
        special_tokens=config,
    )


def _read_mpnet(folder: Path, config: Mapping[str, Any]) -> RustTokenizer:
    """MPNet (Song et al., 2020): BERT's words among RoBERTa's special tokens."""
    rust = _read_bert(folder, config)
    rust.post_processor = trimmed_template(rust, config)
    return rust


WORD_PIECE_CLASSES = {
    "BertTokenizer": (_read_bert, BERT_SPECIAL_TOKENS),
    "MPNetTokenizer": (_read_mpnet, MPNET_SPECIAL_TOKENS),
}
