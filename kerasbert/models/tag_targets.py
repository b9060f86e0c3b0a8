"""Tags and spans as people write them to the tokens' classes that a tagger is trained on."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Hashable, Mapping
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from kerasbert.metrics.entities import STRICT_SCHEMES
from kerasbert.metrics.labelled import IGNORED_LABEL
from kerasbert.models.feeding import TokenTargets
from kerasbert.models.labels import Labels
from kerasbert.models.tag_schemes import TagScheme
from kerasbert.text.context import most_context
from kerasbert.text.preprocessor import caller_depth
from kerasbert.text.ragged import Ragged
from kerasbert.text.windows import WindowedExamples
from kerasbert.text.words import WordedTexts

_SPAN_FORMS = '{"start": 0, "end": 4, "label": "PER"} or (0, 4, "PER")'


class Span(NamedTuple):
    """A labelled part of a text, in characters, `end` exclusive."""

    start: int
    end: int
    label: str


def token_targets(
    word_classes: np.ndarray, examples: WindowedExamples, scheme: TagScheme, label_all_tokens: bool
) -> TokenTargets:
    """The classes of words to those of the tokens of all rows.

    Each token is trained once: in the row from which it is read (`most_context`).

    Args:
        word_classes: int array (words,): of all words of all texts; -100 where nothing is said.
        examples: the rows; `texts` are `WordedTexts`.
        scheme: what the classes mean.
        label_all_tokens: whether all tokens of a word are trained, or the first.
    """
    tokens = _token_classes(word_classes, examples.texts, scheme, label_all_tokens)
    rows, columns = most_context(examples)
    ends = np.cumsum(examples.lengths, dtype=np.int64)
    values = np.full(ends[-1] if len(ends) else 0, IGNORED_LABEL, np.int32)
    values[(ends - examples.lengths)[rows] + columns] = tokens
    return TokenTargets(Ragged.of(values, examples.lengths))


def _token_classes(word_classes, texts, scheme, label_all_tokens) -> np.ndarray:
    classes = word_classes[texts.positions]
    tokens = np.full(len(texts.words), IGNORED_LABEL, np.int32)
    if label_all_tokens:
        is_long = (texts.num_tokens > 1) & (classes != IGNORED_LABEL)
        pieces = np.zeros((len(scheme.tags), 3), np.int32)
        for index in np.unique(classes[is_long]):
            pieces[index] = scheme.pieces(index)
        first, middle, last = np.where(is_long, pieces[np.where(is_long, classes, 0)].T, classes)
        tokens = np.repeat(middle, texts.num_tokens)
        tokens[texts.first_tokens + texts.num_tokens - 1] = last
        classes = first
    tokens[texts.first_tokens] = classes
    return tokens


def classes_of_tags(y: Any, texts: WordedTexts, classes: Labels, scheme: TagScheme) -> np.ndarray:
    """Tags of words to classes.

    Args:
        y: for each text a tag for each of its words: a name or an index; -100 or `None` for a word
            that is not trained.
        texts: lists of words.
        classes: the model's.
        scheme: what they mean.

    Returns:
        int32 (words,): of all words of all texts; -100 where there is no tag.

    Raises:
        ValueError: if tags are unknown or not as many as words; the message names the example.
    """
    index: dict[Any, int] = {None: IGNORED_LABEL, IGNORED_LABEL: IGNORED_LABEL}
    for at, name in enumerate(classes.names):
        index |= {name: at, name.encode(): at, at: at}
    found = []
    for text, tags in enumerate(y):
        tags = _listed_tags(tags, text, int(texts.num_words[text]))
        try:
            found += [index[tag] for tag in tags]
        except (KeyError, TypeError):
            for word, tag in enumerate(tags):
                if not isinstance(tag, Hashable) or tag not in index:
                    classes.index(tag, f"{word} of example {text}")  # which says what is wrong
            raise
    found = np.asarray(found, np.int32)
    _warn_of_words_without_tokens(found, texts)
    _warn_of_missing_begins(found, texts, scheme)
    return found


def _listed_tags(tags, text, num_words) -> list:
    is_list = hasattr(tags, "__len__") and not isinstance(tags, str | bytes | Mapping)
    if not is_list or len(tags) != num_words:
        received = f"{len(tags)} tags" if is_list else repr(tags)
        raise ValueError(
            "Each example needs a list of tags, one for each of its words. Correct one of them. "
            f"Received: {received} for {num_words} words in example {text}."
        )
    return tags.tolist() if isinstance(tags, np.ndarray) else list(tags)


def _warn_of_words_without_tokens(found, texts) -> None:
    is_lost = found != IGNORED_LABEL
    is_lost[texts.positions] = False
    if is_lost.any():
        text, word = texts.place_of(int(np.argmax(is_lost)))
        warnings.warn(
            f"{np.count_nonzero(is_lost)} words became no token, so their tags are not used. The "
            f"first is word {word} of example {text}.",
            stacklevel=caller_depth(),
        )


def _warn_of_missing_begins(found, texts, scheme) -> None:
    if scheme.name not in STRICT_SCHEMES:
        return
    kept = np.flatnonzero(found != IGNORED_LABEL)
    owners = np.repeat(np.arange(len(texts)), texts.num_words)[kept]
    begins = kept[scheme.begins_inside(found[kept], owners)]
    if len(begins):
        text, word = texts.place_of(int(begins[0]))
        warnings.warn(
            f"{len(begins)} entities do not begin with B-. They are taken for entities, as by "
            "conlleval; if the tags are IOB1, where most begin with I-, convert them. The first is "
            f"{scheme.tags[found[begins[0]]]!r} at word {word} of example {text}.",
            stacklevel=caller_depth(),
        )


def classes_of_spans(y: Any, texts: WordedTexts, scheme: TagScheme) -> np.ndarray:
    """Spans of characters to classes of words, which are the pre-tokenizer's.

    A word that a span has a part in is labelled as a whole, with one warning for all such spans; of
    two spans in one word, the first has it.

    Args:
        y: for each text a list of spans: dicts with `"start"`, `"end"` and `"label"` (other entries
            are ignored), or `(start, end, label)`. The label is an entity's, without a prefix.
        texts: strings.
        scheme: what the classes mean.

    Returns:
        int32 (words,): of all words of all texts; -100 for words of whitespace.

    Raises:
        ValueError: if a span is outside of its text, empty, of an unknown label, or overlaps with
            another; the message names the example.
    """
    outside = IGNORED_LABEL if scheme.outside is None else scheme.outside
    found = np.full(int(texts.num_words.sum()), outside, np.int32)
    bounds = np.searchsorted(texts.owners[texts.first_tokens], np.arange(len(texts) + 1))
    inexact = []
    for text, given in enumerate(y):
        part = slice(bounds[text], bounds[text + 1])
        extents, positions = texts.extents[part], texts.positions[part]
        taken = 0
        for span in _read_spans(given, text, len(texts.strings[text]), scheme):
            start, end = texts.extent(text, span.start, span.end)
            first = max(taken, int(np.searchsorted(extents[:, 1], start, side="right")))
            stop = int(np.searchsorted(extents[:, 0], end, side="left"))
            if first < stop:
                found[positions[first:stop]] = scheme.of_entity(span.label, stop - first)
                taken = stop
            if first >= stop or (extents[first, 0], extents[stop - 1, 1]) != (start, end):
                inexact.append((text, span))
    found[texts.positions[texts.extents[:, 0] == texts.extents[:, 1]]] = IGNORED_LABEL
    _warn_of_inexact_spans(inexact)
    return found


def _warn_of_inexact_spans(inexact: list[tuple[int, Span]]) -> None:
    if inexact:
        text, span = inexact[0]
        warnings.warn(
            f"{len(inexact)} spans begin or end inside a word. Words are labelled as a whole; of "
            f"two spans in one, the first has it. The first is {tuple(span)} in example {text}.",
            stacklevel=caller_depth(),
        )


def _read_spans(given: Any, text: int, length: int, scheme: TagScheme) -> list[Span]:
    """The spans of a text in their order."""
    if isinstance(given, str | bytes | Mapping) or not hasattr(given, "__iter__"):
        raise ValueError(
            f"Each text needs a list of spans, such as {_SPAN_FORMS}; an empty one if there are "
            f"none. Received: {given!r:.100} for example {text}."
        )
    spans = sorted(_read_span(span, text, length, scheme) for span in given)
    for span, following in itertools.pairwise(spans):
        if following.start < span.end:
            raise ValueError(
                "The spans of a text must not overlap. Remove one of them. "
                f"Received: {tuple(span)} and {tuple(following)} in example {text}."
            )
    return spans


def _read_span(given: Any, text: int, length: int, scheme: TagScheme) -> Span:
    try:
        names = ("start", "end", "label")
        parts = [given[name] for name in names] if isinstance(given, Mapping) else given
        start, end, label = parts
    except (KeyError, TypeError, ValueError):
        start = None
    if not isinstance(start, Integral) or not isinstance(end, Integral):
        raise ValueError(
            f"A span must be {_SPAN_FORMS}. (Tags of words need lists of words as input.) "
            f"Received: {given!r:.100} in example {text}."
        )
    if not 0 <= start < end <= length:
        raise ValueError(
            "A span must have at least one character, and lie in its text. "
            f"Received: start={start}, end={end} in example {text} of {length} characters."
        )
    label = label.decode("utf-8") if isinstance(label, bytes) else label
    if label not in scheme.entity_labels:
        raise ValueError(
            "Unknown label of a span; it is given without the prefix of a tag. Known are "
            f"{scheme.entity_labels[:20]}. Received: {label!r} in example {text}."
        )
    return Span(int(start), int(end), label)
