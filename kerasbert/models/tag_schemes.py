"""How the names of a tagger's classes mark where entities begin and end."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kerasbert.metrics.entities import OUTSIDE, Tag, split_tag

# What the first token of a word, those in its middle and the last are, by the prefix of its tag.
_PIECES = {"B": "BII", "I": "III", "E": "IIE", "S": "BIE", "O": "OOO"}


@dataclass(frozen=True)
class TagScheme:
    """What the classes of a tagger mean.

    Attributes:
        name: `"iob2"`, `"iobes"`, `"iob1"` (`I-` only) or `"plain"`, as `entities_in` takes it.
        tags: the classes' names, in the order of the logits. In a scheme with prefixes, a name
            without one has got an `I-`: neighbours of it are one entity.
    """

    name: str
    tags: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> TagScheme:
        """Recognise the scheme: by the prefixes `B-`, `I-`, `E-` and `S-` of the names."""
        inside = [label for label in labels if label != OUTSIDE]
        prefixes = {label[0] for label in inside if label[1:2] == "-"}
        if set(inside) <= set("BIES"):
            prefixes = set(inside)
        if not prefixes & set("BI"):
            return cls("plain", tuple(labels))
        name = "iobes" if prefixes & set("ES") else "iob2" if "B" in prefixes else "iob1"
        return cls(name, tuple(_fitting(label, name) for label in labels))

    @functools.cached_property
    def parts(self) -> tuple[Tag, ...]:
        """Prefix and entity label of each class."""
        return tuple(split_tag(tag, self.name) for tag in self.tags)

    @functools.cached_property
    def entity_labels(self) -> list[str]:
        """The labels of entities, in the order of the classes."""
        return list(dict.fromkeys(part.label for part in self.parts if not part.is_outside))

    @property
    def outside(self) -> int | None:
        """The class of what is in no entity; `None` where there is none."""
        return self._index.get(Tag("O", ""))

    def of_entity(self, label: str, count: int) -> list[int]:
        """The classes of the words of an entity.

        Args:
            label: label of the entity.
            count: how many words it has.

        Raises:
            ValueError: if a class that is needed does not exist.
        """
        if self.name == "iob2":
            prefixes = "B" + "I" * (count - 1)
        elif self.name == "iobes":
            prefixes = "S" if count == 1 else "B" + "I" * (count - 2) + "E"
        else:
            prefixes = "I" * count
        return [self._class_of(prefix, label) for prefix in prefixes]

    def pieces(self, index: int) -> tuple[int, int, int]:
        """The classes of a word's first token, of those in its middle, and of the last.

        Args:
            index: the class of a word of several tokens.

        Raises:
            ValueError: if a class that is needed does not exist.
        """
        prefix, label = self.parts[index]
        first, middle, last = (self._class_of(piece, label) for piece in _PIECES[prefix])
        return first, middle, last

    def begins_inside(self, classes: np.ndarray, owners: np.ndarray) -> np.ndarray:
        """Whether each word begins an entity without a tag that says so.

        Args:
            classes: int array (words,) of classes.
            owners: int array (words,): the text of each word.
        """
        labels = np.array([part.label for part in self.parts])[classes]
        opens, closes, outside = (
            np.array([getattr(part, name) for part in self.parts])[classes]
            for name in ("opens", "closes", "is_outside")
        )
        goes_on = np.zeros(len(classes), bool)
        goes_on[1:] = (
            (labels[1:] == labels[:-1]) & ~closes[:-1] & ~outside[:-1] & (np.diff(owners) == 0)
        )
        return ~outside & ~opens & ~goes_on

    @functools.cached_property
    def _index(self) -> dict[Tag, int]:
        return {part: index for index, part in reversed(list(enumerate(self.parts)))}

    def _class_of(self, prefix: str, label: str) -> int:
        index = self._index.get(Tag(prefix, label))
        if index is None:
            raise ValueError(
                f"`labels` must have {prefix}-{label}: a span needs it or, with "
                "`label_all_tokens`, a word of several tokens. Add it. "
                f"Received: labels={list(self.tags)}."
            )
        return index


def _fitting(label: str, scheme: str) -> str:
    try:
        split_tag(label, scheme)
    except ValueError:
        return f"I-{label}"
    return label
