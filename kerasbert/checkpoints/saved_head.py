"""What a checkpoint of another library says of a task's head."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True)
class SavedHead:
    """A head as a folder describes it.

    Args:
        labels: names of the classes in the order of the logits, `None` where they have none.
        num_classes: their number, where they have no names.
        problem_type: Hugging Face's name of the kind of classification.
        options: fields of `kerasbert.families.heads.Head` that it sets.
    """

    labels: list[str] | None = None
    num_classes: int | None = None
    problem_type: str | None = None
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
