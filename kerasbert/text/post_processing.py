"""The special tokens that model families put around one text and around two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tokenizers import Tokenizer as RustTokenizer
from tokenizers import processors

from kerasbert.text.special_tokens import content


def template(
    rust: RustTokenizer, roles: Mapping[str, Any], roberta_pairs: bool = False
) -> processors.PostProcessor:
    """Special tokens around the texts, whose offsets stay as they are.

    Args:
        rust: A tokenizer that knows the tokens.
        roles: Special tokens by role.
        roberta_pairs: `False` (default): BERT's pair (Devlin et al., 2018), `[CLS] A [SEP] B [SEP]`
            where B is segment 1. `True`: RoBERTa's, `<s> A </s></s> B </s>` in one segment.
    """
    start, end = content(roles["cls_token"]), content(roles["sep_token"])
    second = f"{end}:0 $B:0 {end}:0" if roberta_pairs else f"$B:1 {end}:1"
    return processors.TemplateProcessing(
        single=f"{start}:0 $A:0 {end}:0",
        pair=f"{start}:0 $A:0 {end}:0 {second}",
        special_tokens=[(token, rust.token_to_id(token)) for token in {start, end}],
    )


def trimmed_template(
    rust: RustTokenizer,
    roles: Mapping[str, Any],
    trim_offsets: bool = True,
    add_prefix_space: bool = False,
) -> processors.PostProcessor:
    """RoBERTa's pair, where a token's offsets leave out the space that the token begins with.

    Args:
        rust: A tokenizer that knows the tokens.
        roles: Special tokens by role.
        trim_offsets: Whether spaces are left out. Default `True`.
        add_prefix_space: Whether the tokenizer puts a space before the text. Default `False`.
    """
    start, end = content(roles["cls_token"]), content(roles["sep_token"])
    return processors.RobertaProcessing(
        (end, rust.token_to_id(end)),
        (start, rust.token_to_id(start)),
        trim_offsets=trim_offsets,
        add_prefix_space=add_prefix_space,
    )
