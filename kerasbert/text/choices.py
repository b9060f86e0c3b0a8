"""Texts with several choices each to an encoder's input."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import keras
import numpy as np

from kerasbert.text.inputs import as_texts
from kerasbert.text.packing import Examples
from kerasbert.text.preprocessor import TextPreprocessor
from kerasbert.text.ragged import Ragged

CHOICES_FORM = '{"text": [...], "choices": [[...], ...]}'


class ChoiceExamples:
    """The choices of each example side by side, behind the interface of `Examples`.

    Args:
        rows: `Examples`: the choices of the first example, then those of the second, and so on.
        num_choices: int. How many choices every example has.
        starts: int array, one for each row: where its choice begins; `None` (default) where rows
            are choices alone.
    """

    def __init__(self, rows: Examples, num_choices: int, starts: np.ndarray | None = None):
        self._rows, self.num_choices, self._starts = rows, num_choices, starts
        # Batches are formed by the longest choice: it decides the width.
        self.lengths = rows.lengths.reshape(-1, num_choices).max(axis=1)
        self.num_inputs = len(self.lengths)
        self.origin = np.arange(self.num_inputs)

    def __len__(self) -> int:
        return self.num_inputs

    @property
    def buckets(self) -> tuple[int, ...]:
        """The widths of batches."""
        return self._rows.buckets

    @buckets.setter
    def buckets(self, widths: tuple[int, ...]):
        self._rows.buckets = widths

    def width_of(self, indices: np.ndarray) -> int:
        """The bucket of a batch of these examples."""
        return self._rows.width_of(self._rows_of(indices))

    def batch(self, indices: Sequence[int], width: int | None = None) -> dict[str, np.ndarray]:
        """Pads all choices of some examples to one width.

        Args:
            indices: int array or list of shape (batch,): positions of examples; -1 for one without
                real tokens, which fills up a batch.
            width: int or `None` (default): the smallest bucket that holds the longest choice.

        Returns:
            `token_ids`, `segment_ids`, `padding_mask`, and `global_mask` where there is a text
            before the choices: int32 arrays of shape (batch, choices, width).
        """
        indices = np.asarray(indices, np.int64).reshape(-1)
        rows = self._rows_of(indices)
        inputs = self._rows.batch(rows, width)
        if self._starts is not None:
            columns = np.arange(inputs["padding_mask"].shape[1])
            in_choice = columns >= self._starts[rows][:, None]
            inputs["global_mask"] = in_choice * inputs["padding_mask"]
        shape = (len(indices), self.num_choices, inputs["token_ids"].shape[1])
        return {name: array.reshape(shape) for name, array in inputs.items()}

    def _rows_of(self, indices: np.ndarray) -> np.ndarray:
        rows = indices[:, None] * self.num_choices + np.arange(self.num_choices)
        return np.where(indices[:, None] < 0, -1, rows).reshape(-1)


@keras.saving.register_keras_serializable(package="kerasbert")
class MultipleChoicePreprocessor(TextPreprocessor):
    """Texts with choices to the input dict of an encoder, with an axis of choices.

    Each choice stands behind its text, as the second text of a pair; pairs that are too long are
    truncated longest first, with one warning per call. All examples of a call have the same number
    of choices, which may be another one in the next call.

    The entry `global_mask` marks the tokens of the choices, as transformers' Longformer does it for
    multiple choice; encoders without global tokens do not read it.

    Args:
        tokenizer: `kerasbert.Tokenizer`.
        sequence_length: int, default 512. The most tokens of text and choice together, special ones
            included.
        buckets: Ascending ints, default `(16, 32, 64, 128, 256, 512)`. The widths that batches are
            padded to; `sequence_length` is always the last of them.
        **kwargs: Of `keras_hub.models.Preprocessor`, such as `name`.

    Raises:
        ValueError: `sequence_length` or `buckets` is not as said.

    Example:

    >>> from kerasbert import Tokenizer
    >>> tokenizer = Tokenizer.train(["she plays the piano", "she eats it"], vocabulary_size=60)
    >>> preprocessor = MultipleChoicePreprocessor(tokenizer)
    >>> x = {"text": ["a piano", "a cake"], "choices": [["she plays", "she eats"]] * 2}
    >>> preprocessor(x)["token_ids"].shape
    (2, 2, 16)
    """

    fields: ClassVar[tuple[str, ...]] = ("text", "choices")

    def tokenize(self, x: Any) -> ChoiceExamples:
        """Tokenizes texts and choices in bulk, each text once.

        Args:
            x: `{"text": [...], "choices": [[...], ...]}`, a text and a list of choices for each
                example, or one example: `{"text": "...", "choices": [...]}`. Where choices are
                whole texts, `{"choices": [[...], ...]}` or the list of lists itself.

        Returns:
            `ChoiceExamples`: ragged rows, truncated to `sequence_length`, that `batch` pads.

        Raises:
            TypeError: Something is not text; the message names its position and type.
            ValueError: A dict has other keys; texts and lists of choices differ in number; an
                example has no choice, or another number of them than the first.
        """
        columns = x if isinstance(x, Mapping) else {"choices": x}
        if "choices" not in columns or not set(self.fields).issuperset(columns):
            raise ValueError(
                'A dict of texts with choices has the keys "text" and "choices": '
                f"{CHOICES_FORM}. Received: keys={list(columns)}."
            )
        choices = _lists_of_choices(columns["choices"])
        num_choices = len(choices[0]) if choices else 1
        choice_ids = self._token_ids(list(itertools.chain.from_iterable(choices)))
        if columns.get("text") is None:
            layout = self._layout(1)
            return ChoiceExamples(
                self._packed(self._truncate([choice_ids], layout), layout), num_choices
            )
        texts = as_texts(columns["text"], "text")
        if len(texts) != len(choices):
            raise ValueError(
                "Every text needs a list of choices: "
                f"{CHOICES_FORM}. Received: {len(texts)} texts, {len(choices)} lists of choices."
            )
        return self._pairs(self._token_ids(texts), choice_ids, num_choices)

    def _pairs(self, text_ids: Ragged, choice_ids: Ragged, num_choices: int) -> ChoiceExamples:
        layout = self._layout(2)
        rows = np.repeat(np.arange(len(text_ids)), num_choices)
        text_ids = text_ids.slices(rows, 0, text_ids.lengths[rows])
        text_ids, choice_ids = self._truncate([text_ids, choice_ids], layout)
        # The text takes more or fewer places than the one that the layout has for it.
        place = max(at for at, index in enumerate(layout.ids) if index is None)
        starts = place - 1 + text_ids.lengths
        return ChoiceExamples(self._packed([text_ids, choice_ids], layout), num_choices, starts)

    @classmethod
    def is_one(cls, x: Any) -> bool:
        if isinstance(x, Mapping):
            return super().is_one(x["text"]) if "text" in x else cls.is_one(x.get("choices"))
        return is_list_of_texts(x)


def is_list_of_texts(choices: Any) -> bool:
    """Whether these are the choices of one example, rather than a list for each of several."""
    if isinstance(choices, list | tuple):
        return len(choices) > 0 and isinstance(choices[0], str | bytes)
    return getattr(choices, "ndim", None) == 1 and isinstance(choices[0], str | bytes)


def _lists_of_choices(choices: Any) -> list[list[str]]:
    """The choices of every example as strings, the same number for each."""
    if isinstance(choices, str | bytes) or not hasattr(choices, "__iter__"):
        raise TypeError(
            f"`choices` must be a list of choices for each example: {CHOICES_FORM}. "
            f"Received: choices={choices!r:.60} of type {type(choices).__name__}."
        )
    rows = [choices] if is_list_of_texts(choices) else choices
    lists = [
        as_texts(list(row) if isinstance(row, tuple) else row, f"choices[{position}]")
        for position, row in enumerate(rows)
    ]
    for position, row in enumerate(lists):
        if len(row) != len(lists[0]) or not row:
            raise ValueError(
                "Every example of a call must have the same number of choices, at least one. Give "
                "those with another number in a call of their own. Received: "
                f"{len(row)} at position {position}, {len(lists[0])} at position 0."
            )
    return lists
