"""Texts with labels."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LabelledTexts:
    """Texts (or pairs of texts) with one label each.

    Args:
        texts: One string per example.
        labels: One label per example: a string or a number; for several classes at once, a list of
            them. `None` for texts without labels.
        text_pairs: The second text of every example, or `None` (default) for single texts.
    """

    texts: list[str]
    labels: list[Any] | None
    text_pairs: list[str] | None = None

    @classmethod
    def of(cls, examples: Iterable[dict[str, Any]]) -> LabelledTexts:
        """Collects a stream of dicts that all have the same of `text`, `text_pair`, `label`."""
        columns: dict[str, list] = {}
        for example in examples:
            for name, value in example.items():
                columns.setdefault(name, []).append(value)
        return cls(columns["text"], columns.get("label"), columns.get("text_pair"))

    def inputs(self) -> list[str] | dict[str, list[str]]:
        """What a `TextClassifier` takes: the list of texts, or a dict `text`, `text_pair`."""
        if self.text_pairs is None:
            return self.texts
        return {"text": self.texts, "text_pair": self.text_pairs}

    def targets(self) -> list[Any] | None:
        """The labels."""
        return self.labels

    def __len__(self) -> int:
        return len(self.texts)
