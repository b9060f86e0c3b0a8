"""Entities in sequences of tags, scored as the CoNLL shared task does (conlleval)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

OUTSIDE = "O"

# The prefixes of each scheme. A plain tag has none: neighbours of the same tag are one entity.
_PREFIXES = {"iob1": "BI", "iob2": "BI", "iobes": "BIES", "plain": ""}
STRICT_SCHEMES = ("iob2", "iobes")


class Tag(NamedTuple):
    """A tag's parts: `prefix` is "O", "B", "I", "E" or "S", `label` is "" outside of entities."""

    prefix: str
    label: str

    @property
    def is_outside(self) -> bool:
        return self.prefix == "O"

    @property
    def opens(self) -> bool:
        """Whether an entity begins here whatever stands before it."""
        return self.prefix in ("B", "S")

    @property
    def closes(self) -> bool:
        """Whether an entity ends here whatever follows."""
        return self.prefix in ("E", "S")


class Span(NamedTuple):
    """An entity: tokens `start` to `end`, the latter exclusive. `is_well_formed`: by the scheme."""

    label: str
    start: int
    end: int
    is_well_formed: bool


def split_tag(tag: str, scheme: str = "iob2") -> Tag:
    """Splits a tag such as "B-PER" into its prefix and its label.

    Args:
        tag: A tag. One that is a prefix alone has the label "_".
        scheme: As for `entities_in`.

    Raises:
        ValueError: The scheme is unknown, or has no such tag.

    Example:

    >>> split_tag("B-creative-work")
    Tag(prefix='B', label='creative-work')
    """
    if scheme not in _PREFIXES:
        raise ValueError(f"`scheme` must be one of {list(_PREFIXES)}. Received: scheme={scheme!r}.")
    if tag == OUTSIDE:
        return Tag("O", "")
    if scheme == "plain":
        return Tag("I", tag)
    prefix, _, label = tag.partition("-")
    if not prefix or prefix not in tuple(_PREFIXES[scheme]):
        forms = ", ".join(f"{prefix}-LABEL" for prefix in _PREFIXES[scheme])
        raise ValueError(
            f'A tag of the scheme {scheme!r} must be "O" or one of {forms}. Choose the scheme that '
            f'fits; "plain" takes any tags. Received: tag={tag!r}.'
        )
    return Tag(prefix, label or "_")


def spans(tags: Sequence[str], scheme: str = "iob2") -> Iterator[Span]:
    """Finds the entities of a sentence, as `entities_in` without `strict`.

    Args:
        tags: One tag for each token.
        scheme: As for `entities_in`.

    Raises:
        ValueError: As `split_tag`.

    Example:

    >>> [span.is_well_formed for span in spans(["I-LOC", "B-LOC", "I-LOC"])]
    [False, True]
    """
    parts = [split_tag(tag, scheme) for tag in tags]
    start = None
    for at, tag in enumerate([*parts, Tag("O", "")]):
        previous = parts[at - 1] if at else Tag("O", "")
        begins = tag.opens or previous.is_outside or previous.closes or tag.label != previous.label
        if start is not None and (tag.is_outside or begins):
            is_well_formed = _is_well_formed(parts[start], previous, scheme)
            yield Span(previous.label, start, at, is_well_formed)
            start = None
        if begins and not tag.is_outside:
            start = at


def _is_well_formed(first: Tag, last: Tag, scheme: str) -> bool:
    if scheme not in STRICT_SCHEMES:
        return True
    return first.opens and (last.closes or scheme == "iob2")


def entities_in(
    tags: Sequence[str], scheme: str = "iob2", strict: bool = False
) -> list[tuple[str, int, int]]:
    """Finds the entities of a sentence.

    An entity begins at B or S, at another label than before, after O, after E and after S, so an I
    without a B begins one too; it ends before the next one, before O, and with E and S. These are
    the rules of conlleval and of seqeval's default mode.

    Args:
        tags: One tag for each token.
        scheme: `"iob2"` (default), `"iob1"`, `"iobes"`, or `"plain"` for labels without prefixes.
        strict: Whether to count only what the scheme allows, as seqeval's mode `"strict"` does: in
            IOB2 what begins with B, in IOBES what is S, or begins with B and ends with E.
            For these two schemes only.

    Returns:
        `(label, start, end)` of each entity in order, `end` exclusive.

    Raises:
        ValueError: A tag does not fit the scheme, or `strict` does not.

    Example:

    >>> entities_in(["B-PER", "I-PER", "O", "I-LOC"])
    [('PER', 0, 2), ('LOC', 3, 4)]
    >>> entities_in(["B-PER", "I-PER", "O", "I-LOC"], strict=True)
    [('PER', 0, 2)]
    """
    check_strict(scheme, strict)
    return [span[:3] for span in spans(tags, scheme) if span.is_well_formed or not strict]


def check_strict(scheme: str, strict: bool) -> None:
    """Refuses `strict` for a scheme in which it has no meaning."""
    if strict and scheme not in STRICT_SCHEMES:
        raise ValueError(
            f"`strict` is for the schemes {list(STRICT_SCHEMES)}. Received: scheme={scheme!r}."
        )


def entity_scores(
    true: Sequence[Sequence[str]],
    predicted: Sequence[Sequence[str]],
    scheme: str = "iob2",
    strict: bool = False,
) -> dict:
    """Precision, recall and F1 of entities: right is one of the same label, start and end.

    Equal to conlleval and to seqeval's default mode, with `strict` to seqeval's mode `"strict"`
    (Tjong Kim Sang and De Meulder, 2003, arXiv:cs/0306050, section 2.5).

    Args:
        true: The right tags: a list for each sentence.
        predicted: The predicted tags: of the same lengths.
        scheme: As for `entities_in`.
        strict: As for `entities_in`.

    Returns:
        A dict: `precision`, `recall` and `f1` over all entities (micro average);
        `macro_precision`, `macro_recall` and `macro_f1`, means over the labels; `labels`, by label
        a dict of `precision`, `recall`, `f1` and `support` (how many there are). What would be
        divided by zero is 0.0.

    Raises:
        ValueError: There are no sentences, the numbers of sentences or of tags differ, or a tag
            does not fit the scheme.

    Example:

    >>> scores = entity_scores([["B-PER", "O", "B-LOC"]], [["B-PER", "O", "B-PER"]])
    >>> scores["f1"], {label: found["precision"] for label, found in scores["labels"].items()}
    (0.5, {'LOC': 0.0, 'PER': 0.5})
    """
    _check_lengths(true, predicted)
    hits, guesses, support = Counter(), Counter(), Counter()
    for right, guessed in zip(true, predicted, strict=True):
        right = set(entities_in(right, scheme, strict))
        guessed = set(entities_in(guessed, scheme, strict))
        hits.update(label for label, *_ in right & guessed)
        guesses.update(label for label, *_ in guessed)
        support.update(label for label, *_ in right)
    labels = {
        label: {**_rates(hits[label], guesses[label], support[label]), "support": support[label]}
        for label in sorted(support.keys() | guesses.keys())
    }
    scores = _rates(hits.total(), guesses.total(), support.total())
    for name in list(scores):
        values = [of_label[name] for of_label in labels.values()]
        scores[f"macro_{name}"] = sum(values) / len(values) if values else 0.0
    return {**scores, "labels": labels}


def _rates(hits: int, guesses: int, support: int) -> dict[str, float]:
    return {
        "precision": hits / guesses if guesses else 0.0,
        "recall": hits / support if support else 0.0,
        "f1": 2 * hits / (guesses + support) if guesses + support else 0.0,
    }


def _check_lengths(true, predicted):
    if not len(true) or len(true) != len(predicted):
        raise ValueError(
            "`true` and `predicted` must have the same number of sentences, at least one. "
            f"Received: {len(true)} and {len(predicted)} sentences."
        )
    for at, (right, guessed) in enumerate(zip(true, predicted, strict=True)):
        if isinstance(right, str) or isinstance(guessed, str):
            raise ValueError(
                "Each sentence must be a list of tags. Put a single sentence into a list. "
                f"Received: the string {right if isinstance(right, str) else guessed!r}."
            )
        if len(right) != len(guessed):
            raise ValueError(
                "A sentence must have as many predicted tags as right ones. Received: "
                f"{len(right)} right and {len(guessed)} predicted tags in sentence {at}."
            )
