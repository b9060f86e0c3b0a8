"""Labels as people write them to the arrays that losses take, and back."""

from __future__ import annotations

import dataclasses
import functools
import warnings
from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np

from kerasbert.text.preprocessor import caller_depth


@dataclasses.dataclass(frozen=True)
class Labels:
    """The classes of a classifier.

    Args:
        num_classes: how many; 1 means regression.
        names: their names, or `None` if they are only numbered.
        multi_label: whether an example has any number of classes.
    """

    num_classes: int
    names: tuple[str, ...] | None = None
    multi_label: bool = False

    @classmethod
    def of(cls, num_classes: int | None, names: Sequence[str] | None, multi_label: bool) -> Labels:
        """Check and combine the arguments of a classifier.

        Raises:
            ValueError: if neither or contradicting arguments are given, or names repeat.
        """
        if num_classes is None and names is None:
            raise ValueError("One of `num_classes` and `labels` must be given. Received neither")
        if names is not None:
            if isinstance(names, str | set | frozenset):
                raise ValueError(
                    "`labels` must be a list of names, in the order of the logits. "
                    f"Received: labels={names!r}"
                )
            names = tuple(names)
            if not all(isinstance(name, str) for name in names):
                # Were numbers taken as names, labels given as numbers would be ambiguous.
                raise ValueError(
                    "`labels` must be strings; for classes that are numbers from 0 on, give "
                    f"`num_classes`. Received: labels={names}"
                )
            if len(set(names)) != len(names) or not names:
                raise ValueError(f"`labels` must be distinct names. Received: labels={names}")
            if num_classes not in (None, len(names)):
                raise ValueError(
                    "`num_classes` must be the number of `labels`; one of the two is enough. "
                    f"Received: num_classes={num_classes}, {len(names)} labels"
                )
        count = len(names) if num_classes is None else num_classes
        if not isinstance(count, Integral) or isinstance(count, bool) or count < 1:
            raise ValueError(f"`num_classes` must be an integer >= 1. Received: {num_classes!r}")
        names = names and tuple(str(name) for name in names)  # NumPy's strings are their own kind
        return cls(int(count), names, bool(multi_label))

    @property
    def is_regression(self) -> bool:
        """Whether the one output is a value rather than a class."""
        return self.num_classes == 1 and not self.multi_label

    def name(self, index: int) -> str | int:
        """The name of a class; its index, if the classes have no names."""
        return int(index) if self.names is None else self.names[index]

    def encode(self, y) -> np.ndarray:
        """Labels to targets.

        Args:
            y: one label for each example: a name or an index; a number for regression; for
                `multi_label` a sequence of labels for each example, or an array (n, num_classes) of
                zeros and ones.

        Returns:
            int32 (n,); float32 (n, 1) for regression; float32 (n, num_classes) for `multi_label`.

        Raises:
            ValueError: for a label that is unknown or out of range; it names label and position.
        """
        y = _as_sequence(y)
        if self.multi_label:
            return self._multi_hot(y)
        y = y[:, 0] if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1 else y
        if self.is_regression:
            return self._numbers(y)
        return np.array([self.index(label, at) for at, label in enumerate(y)], dtype="int32")

    def index(self, label, position: int | str | None = None) -> int:
        """The index of a class given by name or index."""
        at = "" if position is None else f" at position {position}"
        if isinstance(label, bytes):
            label = label.decode("utf-8")
        if isinstance(label, str):
            return self._index_of_name(label, at)
        is_number = isinstance(label, (int, np.integer, np.bool_)) or (
            isinstance(label, (float, np.floating)) and float(label).is_integer()
        )
        if not is_number:
            raise ValueError(f"A label must be a class's name or index. Received: {label!r}{at}")
        if not 0 <= label < self.num_classes:
            raise ValueError(
                f"A label must be from 0 to {self.num_classes - 1}. Received: {label}{at}"
            )
        return int(label)

    def _index_of_name(self, label, at):
        if self.names is None:
            raise ValueError(
                "String labels need their names: build the classifier with `labels=[...]`. "
                f"Received: {label!r}{at}"
            )
        if label not in self._index_by_name:
            shown = list(self.names[:20])
            more = " ..." if len(self.names) > 20 else ""
            raise ValueError(f"Unknown label. Known are {shown}{more}. Received: {label!r}{at}")
        return self._index_by_name[label]

    @functools.cached_property
    def _index_by_name(self):
        return {name: index for index, name in enumerate(self.names)}

    def _numbers(self, y):
        try:
            values = np.asarray(y, dtype="float32").reshape(len(y), 1)
        except (TypeError, ValueError) as error:
            raise ValueError(
                "With `num_classes=1` (regression), labels must be numbers, one for each example. "
                f"Received: {y[:3]!r}, ..."
            ) from error
        if not np.isfinite(values).all():
            position = int(np.flatnonzero(~np.isfinite(values))[0])
            raise ValueError(
                f"Labels must be finite. Received: {y[position]} at position {position}"
            )
        return values

    def _multi_hot(self, y):
        if isinstance(y, np.ndarray) and y.ndim == 2 and y.dtype.kind in "biuf":
            if y.shape[1] != self.num_classes or not np.isin(y, (0, 1)).all():
                raise ValueError(
                    f"A multi-label array must be (n, {self.num_classes}) of zeros and ones. "
                    f"Received: shape {y.shape}"
                )
            return y.astype("float32")
        targets = np.zeros((len(y), self.num_classes), dtype="float32")
        for position, labels in enumerate(y):
            if isinstance(labels, (str, bytes)) or not hasattr(labels, "__iter__"):
                raise ValueError(
                    "With `multi_label=True`, each example has a list of labels. "
                    f"Received: {labels!r} at position {position}"
                )
            indices = [self.index(label, position) for label in labels]
            # With two classes, [0, 1] may be both classes, or no and yes.
            is_ambiguous = self.num_classes == 2 == len(indices) and not any(
                isinstance(label, str) for label in labels
            )
            if is_ambiguous or len(set(indices)) != len(indices):
                raise ValueError(
                    "An example has a label twice, or indices that could be zeros and ones. Give "
                    "names of labels, or zeros and ones for each class as a NumPy "
                    f"array. Received: {labels!r} at position {position}"
                )
            targets[position, indices] = 1
        return targets

    def warn_of_missing(self, targets: np.ndarray) -> None:
        """Warn of classes that have no example among encoded targets, or of values all alike.

        Args:
            targets: what `encode` gave for the labels that train.
        """
        if self.is_regression:
            if (targets == targets[0]).all():
                _warn(f"All values to be learned are the same: {float(targets[0, 0])}.")
            return
        found = (
            targets.any(axis=0) if self.multi_label else np.isin(range(self.num_classes), targets)
        )
        missing = [self.name(index) for index in np.flatnonzero(~found)]
        if not missing:
            return
        shown = ", ".join(map(repr, missing[:10])) + (", ..." if len(missing) > 10 else "")
        only = "All examples are of one class. " if found.sum() == 1 < self.num_classes else ""
        _warn(
            f"{only}{len(missing)} of {self.num_classes} classes have no example to learn from: "
            f"{shown}. Give examples of them, or leave them out of the classes."
        )

    def example_weights(self, y, class_weight: Mapping) -> np.ndarray:
        """The weight of each example's class, (n,) float32; 1 for classes without one.

        Raises:
            ValueError: for `multi_label` or regression, where an example has no single class.
        """
        if self.multi_label or self.is_regression:
            raise ValueError(
                "`class_weight` needs one class for each example. Use `sample_weight` instead."
            )
        weight_of = np.ones(self.num_classes, dtype="float32")
        for label, weight in class_weight.items():
            weight_of[self.index(label)] = weight
        return weight_of[self.encode(y)]


def _warn(message):
    warnings.warn(message, stacklevel=caller_depth())


def _as_sequence(y):
    """A list or NumPy array of `y`, whatever tensor or series it is."""
    if isinstance(y, (str, bytes)) or not hasattr(y, "__len__"):
        raise ValueError(f"Labels must be a sequence, one for each example. Received: y={y!r}")
    if isinstance(y, (list, tuple)):
        return list(y)
    return np.asarray(y)


def their_labels(names) -> dict:
    """Fields of Hugging Face's `config.json` that name the classes."""
    return {
        "id2label": dict(enumerate(names)),
        "label2id": {name: index for index, name in enumerate(names)},
    }
