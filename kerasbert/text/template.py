"""Where a tokenizer puts special tokens around one text and around two."""

from __future__ import annotations

from dataclasses import dataclass

from tokenizers import Encoding as RustEncoding
from tokenizers import PreTokenizedString, Token
from tokenizers import Tokenizer as RustTokenizer

# Stand in for the tokens of the texts: the highest ids that the Rust library can hold.
_FIRST, _SECOND = 2**32 - 1, 2**32 - 2


@dataclass(frozen=True)
class Layout:
    """The ids of one packed row; each text stands as one place.

    Attributes:
        ids: Special token ids, with `None` for the first text and for the second.
        segments: The segment id of every place.
    """

    ids: tuple[int | None, ...]
    segments: tuple[int, ...]

    @property
    def num_special_tokens(self) -> int:
        """How many of a row's places special tokens take."""
        return sum(index is not None for index in self.ids)


@dataclass(frozen=True)
class Template:
    """The layouts of a single text and of a pair."""

    single: Layout
    pair: Layout


def template_of(rust: RustTokenizer) -> Template:
    """Reads the template off the tokenizer's own post-processor, whatever kind it is of.

    Args:
        rust: The tokenizer, without truncation and padding.

    Raises:
        ValueError: The post-processor does not keep the texts whole, once each and in order.
    """
    single = rust.post_process(_one_token(_FIRST, 0))
    pair = rust.post_process(_one_token(_FIRST, 0), _one_token(_SECOND, 1))
    return Template(_layout(single, [_FIRST]), _layout(pair, [_FIRST, _SECOND]))


def _one_token(index: int, segment: int) -> RustEncoding:
    text = PreTokenizedString("a")
    text.tokenize(lambda piece: [Token(index, piece, (0, 1))])
    return text.to_encoding(segment)


def _layout(encoding: RustEncoding, texts: list[int]) -> Layout:
    if [index for index in encoding.ids if index in texts] != texts:
        raise ValueError(
            "This tokenizer's post-processor repeats, drops or reorders the texts of a pair, so "
            "texts cannot be packed with it. Use a tokenizer that keeps them. "
            f"Received: a pair of one-token texts became {encoding.tokens}."
        )
    ids = tuple(None if index in texts else index for index in encoding.ids)
    return Layout(ids, tuple(encoding.type_ids))
