"""Datasets of texts, tokenized batch by batch while they are read."""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

import keras
import numpy as np

from kerasbert.models.epochs import new_seed
from kerasbert.text import TextPreprocessor


class TextStream:
    """Ready batches from a dataset of texts that is too large, or too lazy, to be held in memory.

    Args:
        source: a `tf.data.Dataset`, a grain or Hugging Face dataset, a `PyDataset`, a generator or
            any other iterable. Its elements are batches or single examples: `x`, `(x, y)` or
            `(x, y, sample_weight)`, or dicts with the entry `"label"`.
        prepare: makes a ready batch of x, y and sample_weight, in training also of the pair of
            numbers that decides what is random in it.
        preprocessor: the task's; it knows the names of the input's entries and what one example is.
        batch_size: how many single examples make a batch.
    """

    def __init__(
        self,
        source: Iterable,
        prepare: Callable,
        preprocessor: type[TextPreprocessor] | TextPreprocessor = TextPreprocessor,
        batch_size: int = 32,
    ):
        self._source, self._prepare, self._batch_size = source, prepare, batch_size
        self._preprocessor = preprocessor
        self.seed = new_seed(preprocessor)
        self._count = self._batches_ahead = self._position = None
        self._lock = threading.Lock()  # TensorFlow reads in threads of its own

    @property
    def is_one_pass(self) -> bool:
        """Whether the source can be read only once, as a generator can."""
        return isinstance(self._source, Iterator)

    def __iter__(self) -> Iterator:
        for x, y, sample_weight in self._batches():
            yield self._prepare(x, y, sample_weight)

    def repeated(self) -> Iterator:
        """The batches over and over, one pass after another; once for a one-pass source."""
        if self.is_one_pass:
            yield from self
            return
        for x, y, sample_weight in self._passes():
            yield self._prepare(x, y, sample_weight)

    def batch_at(self, position: int):
        """The ready batch of a position in pass after pass; quick where it is the next one."""
        with self._lock:
            if position != self._position:
                skipped = position % self._count if self._count else position
                self._batches_ahead = itertools.islice(self._passes(), skipped, None)
            batch = self._prepare(*next(self._batches_ahead), (self.seed, position))
            self._position = position + 1
            return batch

    @property
    def settings(self) -> dict:
        """What decides the batches beside the data."""
        return {"batch_size": self._batch_size}

    def contents(self) -> Iterator:
        """The first batch: to read all of them could take hours."""
        yield self.batch_at(0)

    def peek(self):
        """The first ready batch, and all batches with it."""
        batches = iter(self)
        first = next(batches)
        return first, itertools.chain([first], batches)

    def count(self) -> int | None:
        """Batches of one pass; `None` for a one-pass source. Read through if it does not say."""
        if self.is_one_pass or self._count is not None:
            return self._count
        first = next(self.elements(), None)
        elements = length_of(self._source)
        if elements is None:
            elements = sum(1 for _ in self.elements())
        is_single = first is not None and self._preprocessor.is_one(self.unpacked(first)[0])
        self._count = math.ceil(elements / self._batch_size) if is_single else elements
        return self._count

    def elements(self) -> Iterator:
        """The elements of the source as they are."""
        if isinstance(self._source, keras.utils.PyDataset):
            return (self._source[index] for index in range(len(self._source)))
        if hasattr(self._source, "as_numpy_iterator"):
            return self._source.as_numpy_iterator()
        return iter(self._source)

    def unpacked(self, element):
        """`(x, y, sample_weight)` of an element of the source."""
        if not (isinstance(element, Mapping) and "label" in element):
            return keras.utils.unpack_x_y_sample_weight(element)
        x = {name: element[name] for name in self._preprocessor.fields if name in element}
        y = self._preprocessor.label_if_none if element["label"] is None else element["label"]
        # Texts alone are given as they are; of other fields, the name says what they hold.
        return (x if set(x) - {"text"} else x.get("text")), y, None

    def _passes(self) -> Iterator:
        for number in itertools.count(1):
            batch = None
            for batch in self._batches():
                yield batch
            if batch is None:
                raise ValueError(
                    "The dataset has nothing to read, or can be read only once. Give one that can "
                    f"be read again for each epoch. Received: no example in pass {number}."
                )

    def _batches(self) -> Iterator:
        singles = []
        for element in self.elements():
            example = self.unpacked(element)
            if not self._preprocessor.is_one(example[0]):
                yield example
                continue
            singles.append(example)
            if len(singles) == self._batch_size:
                yield _stacked(singles)
                singles = []
        if singles:
            yield _stacked(singles)


def open_dataset(source, prepare: Callable, preprocessor, batch_size: int | None):
    """A `TextStream` if the dataset's first element holds text, else the dataset for Keras.

    Args:
        source: any dataset.
        prepare: as for `TextStream`.
        preprocessor: as for `TextStream`.
        batch_size: as for `TextStream`; 32 for `None`.

    Raises:
        ValueError: if the dataset has no element.
    """
    if not (hasattr(source, "__iter__") or isinstance(source, keras.utils.PyDataset)):
        return source
    peeked = []
    if isinstance(source, Iterator):
        peeked = list(itertools.islice(source, 1))
        # Keras knows generators, but no other iterators.
        source = (element for element in itertools.chain(peeked, source))
    stream = TextStream(source, prepare, preprocessor, batch_size or 32)
    first = peeked or list(itertools.islice(stream.elements(), 1))
    if not first:
        raise ValueError(
            "There must be at least one example. "
            f"Received: an empty dataset of type {type(source).__name__}"
        )
    return stream if preprocessor.is_raw(stream.unpacked(first[0])[0]) else source


def _stacked(examples):
    """Single examples as one batch."""
    xs, ys, weights = zip(*examples, strict=True)
    if isinstance(xs[0], Mapping):
        x = {name: [_as_python(each[name]) for each in xs] for name in xs[0]}
    else:
        x = [_as_python(each) for each in xs]
    y = None if all(each is None for each in ys) else [_as_python(each) for each in ys]
    return x, y, None if weights[0] is None else np.asarray(weights)


def _as_python(value):
    return value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value


def length_of(source) -> int | None:
    """`len(source)`, or `None` where it has none."""
    try:
        return len(source)
    except TypeError:  # it has none, or a `tf.data.Dataset` does not know it
        return None
