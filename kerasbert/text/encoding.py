"""What a tokenizer makes of a text."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Encoding:
    """One text, or a pair, as tokens. All lists have the same length, special tokens included.

    Attributes:
        ids: Token ids.
        tokens: The tokens themselves.
        offsets: Where each token begins and ends, in characters of the original text (of the second
            text for the tokens of `text_pair`); `(0, 0)` for special tokens.
        word_ids: The number of the word that each token belongs to, counted anew in the second
            text; `None` for special tokens.
        segment_ids: 0 for the first text, 1 for the second where the model tells them apart.
    """

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    word_ids: list[int | None]
    segment_ids: list[int]
