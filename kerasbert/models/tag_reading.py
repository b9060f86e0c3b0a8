"""Probabilities of tokens to entities of texts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from kerasbert.metrics.entities import OUTSIDE, entities_in
from kerasbert.models.tag_schemes import TagScheme
from kerasbert.text.words import WordedTexts

# How a word's pieces decide on its tag.
OF_WORDS = ("first", "average", "max")
AGGREGATIONS = ("none", "simple", *OF_WORDS)


class Tagged(NamedTuple):
    """Tokens, or words, with the class that they are found to be of.

    Attributes:
        owners: int64 (n,), the text of each, ascending.
        extents: int (n, 2), its characters.
        classes: int64 (n,).
        scores: float (n,), the probabilities of the classes.
    """

    owners: np.ndarray
    extents: np.ndarray
    classes: np.ndarray
    scores: np.ndarray


def check_aggregation(aggregation: str, known: tuple[str, ...] = AGGREGATIONS) -> None:
    """Refuse an aggregation that is none."""
    if aggregation not in known:
        raise ValueError(
            f"`aggregation` must be one of {list(known)}. Received: aggregation={aggregation!r}."
        )


def tagged(texts: WordedTexts, probabilities: np.ndarray, aggregation: str) -> Tagged:
    """The class of each token (`"none"`, `"simple"`) or word.

    Words of whitespace, which some tokenizers make of a text, are left out.

    Args:
        texts: the texts.
        probabilities: float (tokens, classes).
        aggregation: one of `AGGREGATIONS`.
    """
    owners, extents = texts.owners, texts.offsets
    is_blank = (texts.extents[:, 0] == texts.extents[:, 1]) & (not texts.are_given)
    if aggregation in OF_WORDS:
        owners, extents = owners[texts.first_tokens], texts.extents
        probabilities = of_words(texts, probabilities, aggregation)
    else:
        is_blank = np.repeat(is_blank, texts.num_tokens)
    classes = probabilities.argmax(axis=-1)
    scores = np.take_along_axis(probabilities, classes[:, None], axis=1)[:, 0]
    return Tagged(*(array[~is_blank] for array in (owners, extents, classes, scores)))


def of_words(texts: WordedTexts, probabilities: np.ndarray, aggregation: str) -> np.ndarray:
    """Probabilities of the words that have tokens, float (pieces, classes).

    Args:
        texts: the texts.
        probabilities: of the tokens.
        aggregation: `"first"` for those of the first token, `"average"` for the mean, `"max"` for
            those of the token that is surest, the first of equals.
    """
    starts = texts.first_tokens
    if aggregation == "first" or not len(starts):
        return probabilities[starts]
    if aggregation == "average":
        return np.add.reduceat(probabilities, starts, axis=0) / texts.num_tokens[:, None]
    surest = probabilities.max(axis=-1)
    of_word = np.repeat(np.maximum.reduceat(surest, starts), texts.num_tokens)
    words = np.repeat(np.arange(len(starts)), texts.num_tokens)
    candidates = np.flatnonzero(surest == of_word)
    _, first = np.unique(words[candidates], return_index=True)
    return probabilities[candidates[first]]


def entities_of(
    texts: WordedTexts, found: Tagged, scheme: TagScheme, labels: list[str] | None
) -> list[list[dict]]:
    """The entities of each text.

    Args:
        texts: the texts.
        found: tokens or words with their classes.
        scheme: what the classes mean.
        labels: the classes' names, to give what is not outside one by one; `None` to join
            neighbours to entities.

    Returns:
        For each text a list of `{"label", "text", "start", "end", "score"}`.
    """
    bounds = np.searchsorted(found.owners, np.arange(len(texts) + 1))
    entities = []
    for text in range(len(texts)):
        part = slice(bounds[text], bounds[text + 1])
        classes = found.classes[part].tolist()
        if labels is None:
            groups = entities_in([scheme.tags[index] for index in classes], scheme.name)
        else:
            names = [labels[index] for index in classes]
            groups = [(name, at, at + 1) for at, name in enumerate(names) if name != OUTSIDE]
        extents, scores = found.extents[part], found.scores[part]
        made = (
            _entity(texts, text, label, extents[first:stop], scores[first:stop])
            for label, first, stop in groups
        )
        entities.append([entity for entity in made if entity["text"]])
    return entities


def _entity(texts, text, label, extents, scores) -> dict:
    start, end = texts.extent(text, int(extents[0, 0]), int(extents[-1, 1]))
    return {
        "label": label,
        "text": texts.strings[text][start:end],
        "start": start,
        "end": end,
        "score": float(scores.mean()),
    }


def tags_of(texts: WordedTexts, classes: np.ndarray, labels: list[str]) -> list[list[str | None]]:
    """The tag of every word.

    Args:
        texts: lists of words.
        classes: int (pieces,), of the words that have tokens.
        labels: the classes' names.

    Returns:
        For each text a list of tags: `"O"` for a word without a token, or `None` where there is no
        such class.
    """
    tags = np.full(int(texts.num_words.sum()), OUTSIDE if OUTSIDE in labels else None, object)
    tags[texts.positions] = np.array(labels, object)[classes]
    firsts = zip(texts.first_words, texts.num_words, strict=True)
    return [tags[first : first + count].tolist() for first, count in firsts]
