"""Datasets of texts, tokenized batch by batch while they are read."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping

import keras
import numpy as np

from kerasbert.text.inputs import is_raw


class TextStream:
    """Ready batches from a dataset of texts that is too large, or too lazy, to be held in memory.

    Args:
        source: a `tf.data.Dataset`, a grain or Hugging Face dataset, a `PyDataset`, a generator or
            any other iterable. Its elements are batches or single examples: `x`, `(x, y)` or
            `(x, y, sample_weight)`, or dicts with the entry `"label"`.
        prepare: makes a ready batch of `(x, y, sample_weight)`.
        batch_size: how many single examples make a batch.
    """

    def __init__(self, source: Iterable, prepare: Callable, batch_size: int = 32):
        self._source, self._prepare, self._batch_size = source, prepare, batch_size

    @property
    def is_one_pass(self) -> bool:
        """Whether the source can be read only once, as a generator can."""
        return isinstance(self._source, Iterator)

    def __iter__(self) -> Iterator:
        for x, y, sample_weight in self._batches():
            yield self._prepare(x, y, sample_weight)

    def repeated(self) -> Iterator:
        """The batches over and over, one pass after another; once for a one-pass source."""
        passes = (self,) if self.is_one_pass else itertools.repeat(self)
        return itertools.chain.from_iterable(passes)

    def peek(self):
        """The first ready batch, and all batches with it."""
        batches = iter(self)
        first = next(batches)
        return first, itertools.chain([first], batches)

    def count(self) -> int | None:
        """Batches of one pass; `None` for a one-pass source. Read through if it does not say."""
        if self.is_one_pass:
            return None
        first = next(self._elements(), None)
        elements = length_of(self._source)
        if elements is None:
            elements = sum(1 for _ in self._elements())
        is_single = first is not None and _is_single(_unpacked(first)[0])
        return math.ceil(elements / self._batch_size) if is_single else elements

    def _elements(self) -> Iterator:
        if isinstance(self._source, keras.utils.PyDataset):
            return (self._source[index] for index in range(len(self._source)))
        if hasattr(self._source, "as_numpy_iterator"):
            return self._source.as_numpy_iterator()
        return iter(self._source)

    def _batches(self) -> Iterator:
        singles = []
        for element in self._elements():
            example = _unpacked(element)
            if not _is_single(example[0]):
                yield example
                continue
            singles.append(example)
            if len(singles) == self._batch_size:
                yield _stacked(singles)
                singles = []
        if singles:
            yield _stacked(singles)


def open_dataset(source, prepare: Callable, batch_size: int | None):
    """A `TextStream` if the dataset's first element holds text, else the dataset for Keras.

    Args:
        source: any dataset.
        prepare: as for `TextStream`.
        batch_size: as for `TextStream`; 32 for `None`.
    """
    if not (hasattr(source, "__iter__") or isinstance(source, keras.utils.PyDataset)):
        return source
    if isinstance(source, Iterator):
        first = next(source, None)
        # Keras knows generators, but no other iterators.
        source = (element for element in itertools.chain([first], source))
    else:
        first = next(TextStream(source, prepare)._elements(), None)
    holds_text = first is not None and is_raw(_unpacked(first)[0])
    return TextStream(source, prepare, batch_size or 32) if holds_text else source


def _unpacked(element):
    """`(x, y, sample_weight)` of an element of a dataset."""
    if isinstance(element, Mapping) and "label" in element:
        x = {name: element[name] for name in ("text", "text_pair") if name in element}
        return (x if len(x) > 1 else element.get("text")), element["label"], None
    return keras.utils.unpack_x_y_sample_weight(element)


def _is_single(x) -> bool:
    value = x.get("text") if isinstance(x, Mapping) else x
    return isinstance(value, str | bytes) or (isinstance(value, np.ndarray) and value.ndim == 0)


def _stacked(examples):
    """Single examples as one batch."""
    xs, ys, weights = zip(*examples, strict=True)
    if isinstance(xs[0], Mapping):
        x = {name: [_as_python(each[name]) for each in xs] for name in xs[0]}
    else:
        x = [_as_python(each) for each in xs]
    y = None if ys[0] is None else [_as_python(each) for each in ys]
    return x, y, None if weights[0] is None else np.asarray(weights)


def _as_python(value):
    return value.item() if isinstance(value, np.ndarray | np.generic) and value.ndim == 0 else value


def length_of(source) -> int | None:
    """`len(source)`, or `None` where it has none."""
    try:
        return len(source)
    except TypeError:  # it has none, or a `tf.data.Dataset` does not know it
        return None
