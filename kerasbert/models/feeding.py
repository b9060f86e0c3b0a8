"""Data into `fit`, `evaluate` and `predict`: tokenized once, batched by length, in few shapes."""

from __future__ import annotations

import copy
import itertools
import operator
from collections.abc import Iterator

import keras
import numpy as np

from kerasbert.metrics.labelled import IGNORED_LABEL
from kerasbert.models.epochs import Epochs, new_seed
from kerasbert.models.streaming import TextStream

# Batches are formed from pools of this many, each sorted by length: long enough for little padding,
# short enough that every epoch mixes the examples anew.
_POOL_BATCHES = 50

# How many examples are padded to one width where all are gone through.
_CHUNK = 256

# Marks, in the input dict, the rows that are examples (1) and those that fill the last batch (0).
ROW_MASK = "row_mask"


class Batches(keras.utils.PyDataset):
    """Batches of tokenized examples of similar length.

    The last batch is filled up with rows without real tokens, marked by `"row_mask"` in the inputs
    and of weight zero: it needs no compiled function of its own. The other rows weigh more for it:
    in training those of the same batch, so that its gradient is that of its examples; otherwise all
    alike, so that the average over all batches is the average over the examples.

    Args:
        examples: a `kerasbert.text.Examples`.
        targets: array (n, ...), a target with a `batch` of its own such as `TokenTargets`, a dict
            of these, or `None`. Random ones have `new_seed()` and `begin_pass(seed, number)`.
        weights: array (n,) or `None`.
        batch_size: rows of a batch.
        shuffle: whether to draw new batches for each epoch; otherwise they come sorted by length.
        fill: whether to fill up the last batch.
        training: whether the batches train.
        seed: of the shuffling; given by random targets, or drawn from NumPy's global generator, if
            `None`.
    """

    def __init__(
        self,
        examples,
        targets=None,
        weights=None,
        batch_size=32,
        shuffle=False,
        fill=True,
        training=False,
        seed=None,
    ):
        super().__init__()
        self.examples, self.targets, self.weights = examples, targets, weights
        self.batch_size, self.shuffle, self.fill = batch_size, shuffle, fill
        self.training = training
        self.seed = new_seed(targets) if seed is None else seed
        self._pass = None
        self.begin_pass(0)

    def __len__(self):
        return len(self._rows)

    @property
    def order(self) -> np.ndarray:
        """Index of the example in each row of all batches, -1 for a filling row."""
        return np.concatenate(self._rows)

    def __getitem__(self, index):
        rows = self._rows[index]
        inputs = self.examples.batch(rows)
        weights = None if self.weights is None else self.weights[rows]
        if self.fill and len(self) * self.batch_size != len(self.examples):
            real = (rows >= 0).astype("float32")
            inputs[ROW_MASK] = real
            share = real.mean() if self.training else len(self.examples) / len(self.order)
            scale = 1 / share
            weights = real * scale if weights is None else weights * real * scale
        if self.targets is None:
            return inputs
        targets = batch_targets(self.targets, rows, inputs)
        return keras.utils.pack_x_y_sample_weight(inputs, targets, weights)

    def by_width(self) -> list[Batches]:
        """The batches, in their order, in groups that are padded to one width each."""
        widths = [self.examples.width_of(rows) for rows in self._rows]
        return [
            self._with_rows([rows for _, rows in group])
            for _, group in itertools.groupby(
                zip(widths, self._rows, strict=True), key=operator.itemgetter(0)
            )
        ]

    def begin_pass(self, number: int) -> None:
        """Arrange the batches of a pass through the data: its number and the seed decide how."""
        if (self.seed, number) != self._pass:
            self._pass = (self.seed, number)
            self._rows = self._arrange(np.random.default_rng(self._pass))
            begin_pass(self.targets, *self._pass)

    def batch_at(self, position: int):
        """A batch of one pass after another."""
        number, index = divmod(position, len(self))
        self.begin_pass(number)
        return self[index]

    @property
    def settings(self) -> dict:
        """What decides the batches beside the data and the seed."""
        return {"batch_size": self.batch_size, "shuffle": self.shuffle}

    def contents(self) -> Iterator:
        """All inputs, targets and weights, in the order of the examples."""
        self.begin_pass(0)
        count = len(self.examples)
        for start in range(0, count, _CHUNK):
            rows = np.arange(start, min(start + _CHUNK, count))
            inputs = self.examples.batch(rows)
            weights = None if self.weights is None else self.weights[rows]
            targets = None if self.targets is None else batch_targets(self.targets, rows, inputs)
            yield inputs, targets, weights

    def _with_rows(self, rows) -> Batches:
        part = copy.copy(self)
        part._rows = rows
        return part

    def _arrange(self, generator) -> list[np.ndarray]:
        count, size = len(self.examples), self.batch_size
        order = generator.permutation(count) if self.shuffle else np.arange(count)
        pool = size * _POOL_BATCHES if self.shuffle else max(count, 1)
        lengths = self.examples.lengths
        pools = [order[start : start + pool] for start in range(0, count, pool)]
        order = np.concatenate([rows[np.argsort(lengths[rows], kind="stable")] for rows in pools])
        batches = [order[start : start + size] for start in range(0, count, size)]
        if self.fill:
            missing = size - len(batches[-1])
            batches[-1] = np.concatenate([batches[-1], np.full(missing, -1, order.dtype)])
        if self.shuffle:
            batches = [batches[index] for index in generator.permutation(len(batches))]
        return batches


class TokenTargets:
    """One target for each token: padded as the batch is, with the label that does not count.

    Args:
        values: a `kerasbert.text.Ragged` of ints, a row for each example.
    """

    def __init__(self, values):
        self._values = values

    def __len__(self):
        return len(self._values)

    @property
    def has_labels(self) -> bool:
        """Whether any token has a label that counts."""
        return bool((self._values.values != IGNORED_LABEL).any())

    def batch(self, rows, inputs) -> np.ndarray:
        """int32 (batch, length), for the batch's input dict."""
        return self._values.padded(rows, inputs["token_ids"].shape[1], IGNORED_LABEL)


def begin_pass(targets, seed: int, number: int) -> None:
    """Let what is random in targets depend on a seed and the number of a pass."""
    for column in keras.tree.flatten(targets):
        if hasattr(column, "begin_pass"):
            column.begin_pass(seed, number)


def batch_targets(targets, rows, inputs):
    """The targets of some rows, whose inputs are given."""
    return keras.tree.map_structure(
        lambda column: column.batch(rows, inputs) if hasattr(column, "batch") else column[rows],
        targets,
    )


def as_epochs(data, steps: int | None, first_epoch: int = 0):
    """`Epochs` of what was batched here and can be read again; other data as they are.

    Args:
        data: `Batches`, a `TextStream` or a dataset.
        steps: batches of an epoch; `None` for those of one pass.
        first_epoch: the number of the first epoch.
    """
    if isinstance(data, Batches):
        return Epochs(data, steps or len(data), first_epoch)
    if isinstance(data, TextStream) and not data.is_one_pass:
        return Epochs(data, steps or data.count(), first_epoch)
    return data


def as_backend_data(batches: Batches | Epochs):
    """What Keras's trainer of the active backend takes best."""
    if keras.backend.backend() != "tensorflow":
        return batches
    import tensorflow as tf

    def generate():
        for index in range(batches.num_batches):
            yield batches[index]

    dataset = _as_tf_dataset(generate, batches[0])
    return dataset.apply(tf.data.experimental.assert_cardinality(len(batches)))


def as_backend_stream(stream: TextStream, repeat: bool):
    """The same for a stream; `repeat` for training, which counts its steps."""
    read = stream.repeated if repeat else stream.__iter__
    if keras.backend.backend() != "tensorflow":
        return (batch for batch in read())
    example, batches = stream.peek()
    return _as_tf_dataset(lambda: batches if stream.is_one_pass else read(), example)


def _as_tf_dataset(generate, example):
    """A `tf.data.Dataset` of batches of any size and length.

    Keras would read the shapes off the first batches, and then refuse others.
    """
    import tensorflow as tf

    def spec(array):
        array = np.asarray(array)
        # Ids and labels of tokens come in any width; values keep their last axis beyond two.
        free = array.ndim if array.dtype.kind in "iu" else max(min(array.ndim, 2), array.ndim - 1)
        return tf.TensorSpec((*[None] * free, *array.shape[free:]), array.dtype)

    signature = keras.tree.map_structure(spec, example)
    return tf.data.Dataset.from_generator(generate, output_signature=signature).prefetch(2)


def default_jit_compile() -> bool | str:
    """Keras's `jit_compile` where the caller leaves it open.

    On TensorFlow, XLA would compile each batch shape anew, which takes longer than it ever gains
    with several bucket widths; a TensorFlow graph serves all of them.
    """
    return False if keras.backend.backend() == "tensorflow" else "auto"


def compiles_each_shape(model: keras.Model) -> bool:
    """Whether a batch of a new shape makes the active backend compile the model anew."""
    return keras.backend.backend() == "jax" or bool(model.jit_compile)


class TensorExamples:
    """Ready input arrays behind the interface of `kerasbert.text.Examples`.

    Args:
        inputs: dict of arrays (n, ...).

    Raises:
        ValueError: if the arrays differ in their number of rows.
    """

    def __init__(self, inputs):
        self._inputs = {name: np.asarray(array) for name, array in inputs.items()}
        counts = {name: len(array) for name, array in self._inputs.items()}
        if len(set(counts.values())) != 1:
            raise ValueError(f"All inputs must have the same number of rows. Received: {counts}")
        # All rows have one width, so sorting by length would gain nothing.
        self.lengths = np.zeros(next(iter(counts.values())), "int32")
        self.num_inputs = len(self.lengths)
        self.origin = np.arange(self.num_inputs)

    def __len__(self):
        return self.num_inputs

    def width_of(self, indices) -> int:
        """The same for all rows."""
        return 0

    def batch(self, indices):
        real = indices >= 0
        batch = {name: array[indices] for name, array in self._inputs.items()}
        if "padding_mask" in batch and not real.all():
            batch["padding_mask"][~real] = 0
        return batch
