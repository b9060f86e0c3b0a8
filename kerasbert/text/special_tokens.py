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
    "bos_token": "<s>",
    "eos_token": "</s>",
    "pad_token": "<pad>",
    "unk_token": "<unk>",
    "cls_token": "<s>",
    "sep_token": "</s>",
    "mask_token": "<mask>",
}
# Where the mask stands for a word with the space before it.
_WORD_MASK = {"content": "<mask>", "lstrip": True}
CAMEMBERT_SPECIAL_TOKENS = {**ROBERTA_SPECIAL_TOKENS, "mask_token": _WORD_MASK}
MPNET_SPECIAL_TOKENS = {**CAMEMBERT_SPECIAL_TOKENS, "unk_token": "[UNK]"}
DEBERTA_SPECIAL_TOKENS = {**BERT_SPECIAL_TOKENS, "bos_token": "[CLS]", "eos_token": "[SEP]"}
ALBERT_SPECIAL_TOKENS = {**DEBERTA_SPECIAL_TOKENS, "pad_token": "<pad>", "unk_token": "<unk>"}
BIG_BIRD_SPECIAL_TOKENS = {
    **ALBERT_SPECIAL_TOKENS,
    "bos_token": "<s>",
    "eos_token": "</s>",
    "mask_token": {"content": "[MASK]", "lstrip": True},
}
ROLES = tuple(BERT_SPECIAL_TOKENS)
_Token = str | Mapping[str, Any]
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


def with_usual_tokens(config: Mapping[str, Any], usual: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration, completed by the special tokens that a tokenizer class has by itself.

    Args:
        config: The content of `tokenizer_config.json`.
        usual: Tokens by role. Where the configuration names another one without flags, the usual
            one's flags hold.
    """
    completed = {**usual, **config}
    for role, token in usual.items():
        if isinstance(token, Mapping) and isinstance(completed[role], str):
            completed[role] = {**token, "content": completed[role]}
    return completed


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
    """Adds the tokens that `tokenizer_config.json` names.

    As in `transformers`, the flags of `added_tokens_decoder` win over those that the tokenizer has,
    and these over those of roles; of tokens named several times the last one wins.

    Args:
        rust: The tokenizer, changed in place.
        config: The content of `tokenizer_config.json`.
    """
    by_id, others = _declared(config)
    known = {token.content for token in rust.get_added_tokens_decoder().values()}
    known.update(map(content, by_id))
    named = named_tokens(config)
    declared = [*by_id, *(token for token in others if content(token) not in known)]
    rust.add_tokens([_added_token(token, content(token) in named) for token in declared])


def named_tokens(config: Mapping[str, Any]) -> set[str]:
    """The tokens that have a role in a configuration."""
    return {content(config[role]) for role in _DECLARATION_ORDER if config.get(role)}


def check_special_tokens(config: Mapping[str, Any]) -> None:
    """Raises an error where an entry of `tokenizer_config.json` that names tokens does not."""
    by_id, others = _declared(config)
    for token in [*by_id, *others]:
        _added_token(token, is_named=False)


def _declared(config: Mapping[str, Any]) -> tuple[list[_Token], list[_Token]]:
    """The tokens that the configuration lists by id, and those that it names otherwise."""
    by_id = config.get("added_tokens_decoder") or {}
    named = [config[role] for role in _DECLARATION_ORDER if config.get(role)]
    extra = config.get("extra_special_tokens") or config.get("additional_special_tokens") or []
    named += extra.values() if isinstance(extra, Mapping) else extra
    return [by_id[key] for key in sorted(by_id, key=int)], named


def special_contents(rust: RustTokenizer, roles: Mapping[str, str]) -> list[str]:
    """All special tokens, in the order of their ids."""
    flagged: Iterable[str] = (
        token.content for token in rust.get_added_tokens_decoder().values() if token.special
    )
    return sorted({*flagged, *roles.values()}, key=rust.token_to_id)


def content(token: _Token) -> str:
    """The text of a token, which configs hold alone or with flags."""
    return token if isinstance(token, str) else token["content"]


def _added_token(token: _Token, is_named: bool) -> AddedToken:
    if isinstance(token, str):
        return AddedToken(token, special=True, normalized=False)
    flags = ("single_word", "lstrip", "rstrip", "normalized", "special")
    given = {flag: token[flag] for flag in flags if flag in token}
    given = {"special": True, "normalized": False, **given}
    return AddedToken(token["content"], **{**given, "special": is_named or given["special"]})
