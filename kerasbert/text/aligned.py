"""Tokenized texts that know where each token stands in its text."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer as RustTokenizer

from kerasbert.text.ragged import Ragged

# Few enough that the Rust library's records of one chunk (tokens, offsets) stay small.
_CHUNK = 1024


@dataclass(frozen=True)
class AlignedTexts:
    """The tokens of texts, without special ones, and where they come from.

    Attributes:
        token_ids: `Ragged` int32 ids, one row for each text.
        offsets: int32 array of shape (tokens, 2), aligned with `token_ids.values`: the first
            character of each token, and the one after its last. In a text that is given as words
            they count within the word.
        words: int32 array of shape (tokens,), likewise aligned: the index of each token's word; -1
            for a token that belongs to none.
    """

    token_ids: Ragged
    offsets: np.ndarray
    words: np.ndarray

    def __len__(self) -> int:
        return len(self.token_ids)

    def tokens_of(self, text: int) -> slice:
        """Where a text's tokens are in `offsets` and `words`."""
        start = int(self.token_ids.starts[text])
        return slice(start, start + int(self.token_ids.lengths[text]))


def align(rust: RustTokenizer, texts: Sequence[str] | Sequence[Sequence[str]]) -> AlignedTexts:
    """Tokenizes texts, or lists of words, in bulk.

    Args:
        rust: The tokenizer's pipeline.
        texts: Strings; or lists of strings, whose items are taken as words.
    """
    are_words = len(texts) > 0 and not isinstance(texts[0], str)
    ids, offsets, words, lengths = [], [], [], []
    for start in range(0, len(texts), _CHUNK):
        encodings = rust.encode_batch(
            texts[start : start + _CHUNK], is_pretokenized=are_words, add_special_tokens=False
        )
        lengths += map(len, encodings)
        ids.append(_flat(encoding.ids for encoding in encodings))
        pairs = (itertools.chain.from_iterable(encoding.offsets) for encoding in encodings)
        offsets.append(_flat(pairs))
        named = ((-1 if word is None else word for word in each.word_ids) for each in encodings)
        words.append(_flat(named))
    return AlignedTexts(
        Ragged.of(_joined(ids), np.asarray(lengths, np.int32)),
        _joined(offsets).reshape(-1, 2),
        _joined(words),
    )


def _flat(rows) -> np.ndarray:
    return np.fromiter(itertools.chain.from_iterable(rows), np.int32)


def _joined(chunks: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(chunks) if chunks else np.empty(0, np.int32)
