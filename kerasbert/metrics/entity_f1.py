"""F1 of entities as a Keras metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import keras
import numpy as np
from keras import ops

from kerasbert.metrics.entities import check_strict, split_tag
from kerasbert.metrics.labelled import token_weights

_OUTSIDE = -1  # in place of an entity's label


class _Entities(NamedTuple):
    """The entities of tag sequences, each int or bool (B, T)."""

    starts: object  # whether one starts here
    labels: object  # of the one that starts here
    ends: object  # position of the last token of the one that starts here


@keras.saving.register_keras_serializable(package="kerasbert")
class EntityF1(keras.metrics.Metric):
    """Micro average F1 of entities, over all batches: equal to `entity_scores(...)["f1"]`.

    `update_state(y_true, y_pred, sample_weight=None)` takes labels int (B, T), logits (B, T,
    classes) and weights (B,) or (B, T). Tokens of the label -100 (the further pieces of words,
    special tokens, padding) are left out before entities are looked for, and so do not interrupt
    them. Rows and tokens of weight 0 are left out too; other weights do not matter, since
    entities are counted.

    Args:
        labels: The tags, in the order of the logits: `["O", "B-PER", "I-PER"]`.
        scheme: As for `entities_in`. Defaults to `"iob2"`.
        strict: As for `entities_in`. Defaults to `False`: as conlleval.
        name: Name of the metric. Defaults to `"entity_f1"`.
        dtype: Dtype of the result; `None` (default) for Keras's float type. Counts are integers.

    Raises:
        ValueError: A tag does not fit the scheme, or `strict` does not.

    Example:

    >>> f1 = EntityF1(["O", "B-PER", "I-PER"])
    >>> f1.update_state([[1, -100, 2, 0]], np.eye(3)[[[1, 2, 2, 1]]])
    >>> round(float(f1.result()), 4)  # one of two that were found, one of one that was there
    0.6667
    """

    def __init__(
        self,
        labels: Sequence[str],
        scheme: str = "iob2",
        strict: bool = False,
        name: str = "entity_f1",
        dtype=None,
    ):
        super().__init__(name=name, dtype=dtype)
        check_strict(scheme, strict)
        self.labels, self.scheme, self.strict = list(labels), scheme, strict
        tags = [split_tag(label, scheme) for label in self.labels]
        entity_labels = sorted({tag.label for tag in tags if not tag.is_outside})
        index_of = {label: index for index, label in enumerate(entity_labels)}
        self._label_of = np.array([index_of.get(tag.label, _OUTSIDE) for tag in tags], "int32")
        self._opens = np.array([tag.opens for tag in tags])
        self._closes = np.array([tag.closes for tag in tags])
        # Integers stay exact however many there are ("int": TensorFlow keeps int32 off the GPU).
        self.hits = self.add_variable((), "zeros", dtype="int", name="hits")
        self.found = self.add_variable((), "zeros", dtype="int", name="found")

    def update_state(self, y_true, y_pred, sample_weight=None):
        true = ops.cast(ops.convert_to_tensor(y_true), "int32")
        predicted = ops.cast(ops.argmax(y_pred, axis=-1), "int32")
        counts = ops.greater(token_weights(true, sample_weight), 0)
        positions = ops.broadcast_to(ops.arange(ops.shape(true)[1], dtype="int32"), ops.shape(true))
        # The tokens that count move to the front, in their order.
        order = ops.argsort(ops.where(counts, positions, positions + ops.shape(true)[1]), axis=1)
        counts = ops.take_along_axis(counts, order, axis=1)
        true, predicted = (
            self._entities(ops.take_along_axis(tags, order, axis=1), counts, positions)
            for tags in (ops.where(true < 0, 0, true), predicted)
        )
        is_same = ops.logical_and(true.labels == predicted.labels, true.ends == predicted.ends)
        hits = ops.logical_and(ops.logical_and(true.starts, predicted.starts), is_same)
        self.hits.assign_add(_count(hits, self.hits.dtype))
        for entities in (true, predicted):
            self.found.assign_add(_count(entities.starts, self.found.dtype))

    def result(self):
        hits, found = (ops.cast(count, self.dtype) for count in (self.hits, self.found))
        return 2 * hits / ops.maximum(found, 1)

    def get_config(self):
        return {
            **super().get_config(),
            "labels": self.labels,
            "scheme": self.scheme,
            "strict": self.strict,
        }

    def _entities(self, tags, counts, positions) -> _Entities:
        """Finds the entities of `tags`, int (B, T), by the rules of `entities_in`."""
        labels = ops.where(counts, ops.take(self._label_of, tags), _OUTSIDE)
        opens, closes = (ops.take(table, tags) for table in (self._opens, self._closes))
        is_inside = ops.not_equal(labels, _OUTSIDE)
        begins = ops.logical_or(opens, ops.not_equal(labels, _before(labels, _OUTSIDE)))
        starts = ops.logical_and(is_inside, ops.logical_or(begins, _before(closes, False)))
        goes_on = ops.logical_and(_after(is_inside, False), ops.logical_not(_after(starts, False)))
        is_end = ops.logical_and(is_inside, ops.logical_not(goes_on))
        # The n-th start belongs to the n-th end.
        last = ops.shape(tags)[1] - 1
        all_ends = ops.sort(ops.where(is_end, positions, last), axis=1)
        number = ops.cumsum(ops.cast(starts, "int32"), axis=1) - 1
        ends = ops.take_along_axis(all_ends, ops.maximum(number, 0), axis=1)
        if self.strict:
            starts = ops.logical_and(starts, opens)
            if self.scheme == "iobes":
                starts = ops.logical_and(starts, ops.take_along_axis(closes, ends, axis=1))
        return _Entities(starts, labels, ends)


def _before(values, first):
    """Each token's `values` of the token before it."""
    return ops.concatenate([ops.full_like(values[:, :1], first), values[:, :-1]], axis=1)


def _after(values, last):
    """Each token's `values` of the token after it."""
    return ops.concatenate([values[:, 1:], ops.full_like(values[:, :1], last)], axis=1)


def _count(is_counted, dtype):
    return ops.sum(ops.cast(is_counted, dtype))
