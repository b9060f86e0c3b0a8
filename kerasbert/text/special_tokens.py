"""Which token of a vocabulary plays which part: padding, unknown, start, separator, mask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tokenizers import AddedToken
from tokenizers import Tokenizer as RustTokenizer

BERT_SPECIAL_TOKENS = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
ROBERTA_SPECIAL_TOKENS = {
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "mask_token": "<mask>",
}
ALBERT_SPECIAL_TOKENS = {
    **BERT_SPECIAL_TOKENS,
    "pad_token": "<pad>",
    "unk_token": "<unk>",
}
ROLES = tuple(BERT_SPECIAL_TOKENS)
# Files that are not added first but in this order get the same ids as in `transformers`.
_DECLARATION_ORDER = (
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
)


def find_roles(rust: RustTokenizer, config: Mapping[str, Any]) -> dict[str, str]:
    """The token of every role that the vocabulary has.

    Args:
        rust: The tokenizer with all its tokens.
        config: The content of `tokenizer_config.json`. What it does not say is found by the
            usual names, BERT's before RoBERTa's.

    Returns:
        Tokens by role (`"pad_token"`, `"unk_token"`, ...), without the roles that have none.
    """
    roles = {}
    for role in ROLES:
        usual = (BERT_SPECIAL_TOKENS[role], ROBERTA_SPECIAL_TOKENS[role])
        candidates = [content(config[role])] if config.get(role) else usual
        for token in candidates:
            if rust.token_to_id(token) is not None:
                roles[role] = token
                break
    return roles


def declare_special_tokens(rust: RustTokenizer, config: Mapping[str, Any]) -> None:
    """Adds the tokens that `tokenizer_config.json` names and the tokenizer does not know yet.

    Args:
        rust: The tokenizer, changed in place.
        config: The content of `tokenizer_config.json`.
    """
    known = {token.content for token in rust.get_added_tokens_decoder().values()}
    for token in _declared(config):
        if content(token) not in known:
            known.add(content(token))
            rust.add_tokens([_added_token(token)])


def check_special_tokens(config: Mapping[str, Any]) -> None:
    """Raises an error where an entry of `tokenizer_config.json` that names tokens does not."""
    for token in _declared(config):
        _added_token(token)


def _declared(config: Mapping[str, Any]) -> list[str | Mapping[str, Any]]:
    by_id = config.get("added_tokens_decoder") or {}
    declared = [by_id[key] for key in sorted(by_id, key=int)]
    declared += [config[role] for role in _DECLARATION_ORDER if config.get(role)]
    extra = config.get("extra_special_tokens") or config.get("additional_special_tokens") or []
    declared += extra.values() if isinstance(extra, Mapping) else extra
    return declared


def special_contents(rust: RustTokenizer, roles: Mapping[str, str]) -> list[str]:
    """All special tokens, in the order of their ids."""
    flagged: Iterable[str] = (
        token.content for token in rust.get_added_tokens_decoder().values() if token.special
    )
    return sorted({*flagged, *roles.values()}, key=rust.token_to_id)


def content(token: str | Mapping[str, Any]) -> str:
    """The text of a token, which configs hold alone or with flags."""
    return token if isinstance(token, str) else token["content"]


def _added_token(token: str | Mapping[str, Any]) -> AddedToken:
    if isinstance(token, str):
        return AddedToken(token, special=True, normalized=False)
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    given = {flag: token[flag] for flag in flags if flag in token}
    return AddedToken(token["content"], **{"special": True, "normalized": False, **given})
