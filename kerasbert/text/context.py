"""Which of several windows a token is best read from."""

from __future__ import annotations

import numpy as np

from kerasbert.text.ragged import ranges
from kerasbert.text.windows import WindowedExamples
from kerasbert.text.words import WordedTexts


def most_context(examples: WindowedExamples) -> tuple[np.ndarray, np.ndarray]:
    """Finds every token of the texts in the window where its word has most context.

    That is the window in which the nearest place where the text was cut is farthest from the word;
    of equals, the first. All tokens of a word are read from one window, unless it is longer than
    every one.

    Args:
        examples: Windows of `WordedTexts`.

    Returns:
        Two int64 arrays of shape (tokens,): the row, and the column in it, of each token.
    """
    texts: WordedTexts = examples.texts
    first, lengths = examples.windows.first, examples.windows.lengths
    starts = texts.token_ids.starts[examples.origin] + first
    rows = np.repeat(np.arange(len(examples)), lengths)
    tokens = ranges(starts, lengths)
    order = np.lexsort((rows, -_context(texts, tokens, starts, lengths, examples.origin), tokens))
    best = order[np.unique(tokens[order], return_index=True)[1]]
    columns = examples.places[rows] + tokens - starts[rows]
    return rows[best], columns[best]


def _context(texts, tokens, starts, lengths, origin) -> np.ndarray:
    """How far the next cut is from the word of each token of each window.

    Negative where the window has only a part of the word.
    """
    word_starts = np.repeat(texts.first_tokens, texts.num_tokens)[tokens]
    word_ends = np.repeat(texts.first_tokens + texts.num_tokens, texts.num_tokens)[tokens]
    ends = starts + lengths
    text_starts = texts.token_ids.starts[origin]
    is_first = starts == text_starts
    is_last = ends == text_starts + texts.token_ids.lengths[origin]
    # Where a text itself begins and ends, nothing was cut off.
    never = len(texts.words)
    starts, ends = np.where(is_first, -never, starts), np.where(is_last, 2 * never, ends)
    return np.minimum(
        word_starts - np.repeat(starts, lengths), np.repeat(ends, lengths) - word_ends
    )
