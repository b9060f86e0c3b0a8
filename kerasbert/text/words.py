"""Texts whose words are known: given word by word, or found by the tokenizer."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from tokenizers import Tokenizer as RustTokenizer

from kerasbert.text.aligned import AlignedTexts, align


@dataclass(frozen=True)
class WordedTexts(AlignedTexts):
    """The tokens of texts, and the words that they are pieces of.

    `words` counts the words of each text from 0 on. Those of a string are the pre-tokenizer's. The
    tokens of a word follow each other; a word may have none.

    Attributes:
        strings: list of strings, which `offsets` count in: the texts, or words joined by spaces.
        num_words: int64 array of shape (n,): how many words each text has.
        are_given: bool. Whether the texts were given as lists of words.
    """

    strings: list[str]
    num_words: np.ndarray
    are_given: bool

    @functools.cached_property
    def owners(self) -> np.ndarray:
        """int64 array of shape (tokens,): the text of each token."""
        return np.repeat(np.arange(len(self)), self.token_ids.lengths)

    @functools.cached_property
    def first_tokens(self) -> np.ndarray:
        """int64 array of shape (pieces,): the first token of each word that has any, ascending."""
        changes = (np.diff(self.owners) != 0) | (np.diff(self.words) != 0)
        return np.flatnonzero(np.concatenate([[len(self.words) > 0], changes]))

    @functools.cached_property
    def num_tokens(self) -> np.ndarray:
        """int64 array of shape (pieces,): how many tokens each of these words has."""
        return np.diff(np.append(self.first_tokens, len(self.words)))

    @functools.cached_property
    def positions(self) -> np.ndarray:
        """int64 array of shape (pieces,): where these words stand among all words of all texts."""
        return self.first_words[self.owners[self.first_tokens]] + self.words[self.first_tokens]

    @functools.cached_property
    def first_words(self) -> np.ndarray:
        """int64 array of shape (n,): where each text's words begin among all words."""
        return _starts(self.num_words)

    @functools.cached_property
    def extents(self) -> np.ndarray:
        """int64 array of shape (pieces, 2): these words' characters, without whitespace around."""
        starts = self.offsets[self.first_tokens, 0].tolist()
        ends = self.offsets[self.first_tokens + self.num_tokens - 1, 1].tolist()
        owners = self.owners[self.first_tokens].tolist()
        extents = [self.extent(*word) for word in zip(owners, starts, ends, strict=True)]
        return np.array(extents, np.int64).reshape(-1, 2)

    def place_of(self, position: int) -> tuple[int, int]:
        """The text and the index in it of a word among all words."""
        text = int(np.searchsorted(self.first_words + self.num_words, position, side="right"))
        return text, int(position - self.first_words[text])

    def extent(self, text: int, start: int, end: int) -> tuple[int, int]:
        """A part of a string without the whitespace around it, which some tokens include."""
        part = self.strings[text][start:end]
        start += len(part) - len(part.lstrip())
        return start, max(start, start + len(part.strip()))


def align_strings(rust: RustTokenizer, texts: Sequence[str]) -> WordedTexts:
    """Tokenizes strings, whose words are the pre-tokenizer's.

    Args:
        rust: The tokenizer's pipeline.
        texts: Strings.
    """
    aligned = align(rust, texts)
    num_words = np.zeros(len(texts), np.int64)
    owners = np.repeat(np.arange(len(texts)), aligned.token_ids.lengths)
    np.maximum.at(num_words, owners, aligned.words + 1)
    return WordedTexts(**vars(aligned), strings=list(texts), num_words=num_words, are_given=False)


def align_words(rust: RustTokenizer, texts: Sequence[Sequence[str]]) -> WordedTexts:
    """Tokenizes lists of words, each as it would be in running text, behind a space.

    Args:
        rust: The tokenizer's pipeline.
        texts: Lists of strings.
    """
    words = list(itertools.chain.from_iterable(texts))
    num_words = np.fromiter(map(len, texts), np.int64)
    is_spaced = np.zeros(len(words), np.int32)
    spelled = texts
    if _reads_spaces(rust):
        is_spaced = np.fromiter(map(_lacks_space, words), np.int32)
        spelled = [[f" {word}" if _lacks_space(word) else word for word in row] for row in texts]
    aligned = align(rust, spelled)
    # From characters of each word, behind its space, to those of the words joined by spaces.
    firsts = _starts(num_words)[np.repeat(np.arange(len(texts)), aligned.token_ids.lengths)]
    positions = firsts + aligned.words
    starts = _starts(np.fromiter(map(len, words), np.int64) + 1)
    within = np.maximum(aligned.offsets - is_spaced[positions, None], 0)
    offsets = within + (starts[positions] - starts[firsts])[:, None]
    return WordedTexts(
        aligned.token_ids,
        offsets.astype(np.int32),
        aligned.words,
        strings=[" ".join(row) for row in texts],
        num_words=num_words,
        are_given=True,
    )


def _starts(counts: np.ndarray) -> np.ndarray:
    return np.cumsum(counts) - counts


def _lacks_space(word: str) -> bool:
    return bool(word) and not word[0].isspace()


def _reads_spaces(rust: RustTokenizer) -> bool:
    """Whether the tokenizer takes words given one by one for text without spaces.

    Byte-level BPE does, whose tokens include the space before a word (`add_prefix_space=True` of
    transformers' tokenizers mends it in the same way).
    """
    given = rust.encode(["a", "a"], is_pretokenized=True, add_special_tokens=False)
    return given.ids != rust.encode("a a", add_special_tokens=False).ids
