"""`fit`, `evaluate` and `predict` on a task's raw input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import keras
import numpy as np

from kerasbert.models.epochs import Epochs
from kerasbert.models.feeding import (
    ROW_MASK,
    Batches,
    TensorExamples,
    as_backend_data,
    as_backend_stream,
    as_epochs,
    batch_targets,
    begin_pass,
    compiles_each_shape,
    default_jit_compile,
)
from kerasbert.models.streaming import TextStream, length_of, open_dataset
from kerasbert.models.training_run import train
from kerasbert.text import Examples
from kerasbert.text.inputs import is_raw
from kerasbert.text.packing import finer
from kerasbert.tuning.optimizers import prepare


class Fitting:
    """Mixin for models with a preprocessor.

    A subclass has `preprocessor` (a `TextPreprocessor`, or `None`) and `encode_targets(y,
    examples)`, or `make_targets(examples, training)` where inputs are their own labels. Raw input
    and dicts of arrays are batched here (see `Batches`); a dataset of ready batches goes to Keras
    as it is.
    """

    needs_labels = True
    # Whether targets are what was hidden in the inputs, which must then be made for any training.
    hides_targets = False
    # Where the outputs have an axis of tokens (the second): what `predict` fills it up with.
    sequence_fill: ClassVar[float | None] = None
    _fills_batches = True  # a model that is not compiled can predict

    def fit(
        self,
        x=None,
        y=None,
        batch_size=None,
        epochs=1,
        verbose="auto",
        callbacks=None,
        validation_split=0.0,
        validation_data=None,
        shuffle=True,
        class_weight=None,
        sample_weight=None,
        initial_epoch=0,
        steps_per_epoch=None,
        validation_steps=None,
        validation_batch_size=None,
        **kwargs,
    ):
        """Train, as `keras.Model.fit` does, on raw input, tensors or a dataset.

        Args:
            x: the task's raw input (texts), tokenized once for all epochs; or the encoder's input
                dict of arrays (n, length); or a dataset (`tf.data`, grain, Hugging Face,
                `PyDataset`, generator) of raw texts, single or batched, tokenized as it is read, or
                of ready batches.
            y: labels of the examples.
            batch_size: rows of a batch; 32 by default.
            validation_split: share of the examples, from the end, held out for validation.
            validation_data: `(x, y)` or `(x, y, sample_weight)`, or a dataset.
            class_weight: dict from a class (index or label) to the weight of its examples.
            sample_weight: array (n,), the weight of each example.
            **kwargs: the further arguments are those of `keras.Model.fit`.

        Returns:
            A `keras.callbacks.History`.

        Raises:
            ValueError: if numbers of examples differ, or labels are unknown.
            FloatingPointError: when the loss becomes NaN; the best weights so far are put back.
        """
        if validation_split and validation_data is None:
            (x, y, sample_weight), validation_data = _split(x, y, sample_weight, validation_split)
        weights = self._weights(y, sample_weight, None if y is None else class_weight)
        data = self._feed(x, y, weights, batch_size, shuffle, class_weight, training=True)
        self._check_labels(data)
        if validation_data is not None:
            validation_data = self._feed_validation(
                validation_data, validation_batch_size or batch_size
            )
        data = as_epochs(data, steps_per_epoch, initial_epoch)
        is_ours = isinstance(data, Epochs | TextStream)
        if class_weight is not None and not is_ours:
            kwargs["class_weight"] = class_weight  # ready batches: Keras weighs them
        steps = steps_per_epoch or length_of(data)
        return train(
            self,
            _to_backend(data, repeat=True),
            data,
            callbacks,
            initial_epoch=initial_epoch,
            epochs=epochs,
            steps=steps,
            plan=lambda: self._plan_schedule(steps, epochs - initial_epoch),
            verbose=verbose,
            validation_data=_to_backend(validation_data, repeat=True),
            steps_per_epoch=None if isinstance(data, Epochs) else steps_per_epoch,
            validation_steps=validation_steps or _count_if_stream(validation_data),
            shuffle=shuffle and not is_ours,  # ours are shuffled already
            **kwargs,
        )

    def evaluate(
        self, x=None, y=None, batch_size=None, verbose="auto", sample_weight=None, **kwargs
    ):
        """Loss and metrics on raw input, tensors or a dataset; arguments as in `fit`."""
        data = self._feed(x, y, self._weights(y, sample_weight), batch_size)
        self._check_labels(data)
        return keras.Model.evaluate(self, _to_backend(data), verbose=verbose, **kwargs)

    def predict(self, x, batch_size=None, verbose="auto", **kwargs):
        """Outputs for raw input, tensors or a dataset, in the order of the input.

        Returns:
            NumPy array (n, ...): a row for each example, or for each of the windows that a long
            one was cut into. Where outputs have an axis of tokens, rows are filled up to one
            length.
        """
        data = self._feed(x, None, None, batch_size, training=None)
        if not isinstance(data, Batches):
            return keras.Model.predict(self, _to_backend(data), verbose=verbose, **kwargs)
        groups = [data] if self.sequence_fill is None else data.by_width()
        outputs = [
            keras.Model.predict(self, _to_backend(group), verbose=verbose, **kwargs)
            for group in groups
        ]
        return _restore_order(_joined(outputs, self.sequence_fill), data.order)

    def train_on_batch(self, x, y=None, sample_weight=None, class_weight=None, **kwargs):
        """One training step on a batch of raw input or tensors."""
        weights = self._weights(y, sample_weight, class_weight)
        x, y, weights = self._batch(x, y, weights, training=True)
        return keras.Model.train_on_batch(self, x, y, sample_weight=weights, **kwargs)

    def test_on_batch(self, x, y=None, sample_weight=None, **kwargs):
        """Loss and metrics on a batch of raw input or tensors."""
        x, y, weights = self._batch(x, y, self._weights(y, sample_weight))
        return keras.Model.test_on_batch(self, x, y, sample_weight=weights, **kwargs)

    def predict_on_batch(self, x):
        """Outputs for a batch of raw input or tensors, as NumPy arrays."""
        return keras.Model.predict_on_batch(self, self._ready(x))

    def compile(
        self, optimizer="auto", loss="auto", *, metrics="auto", weighted_metrics=None, **kwargs
    ):
        """Configure training; what is left out follows the papers' recipe.

        Args:
            optimizer: `"auto"` for `kerasbert.tuning.optimizer()`: AdamW with warm-up and linear
                decay over the steps of each `fit`.
            loss: `"auto"` for the task's loss.
            metrics: `"auto"` for the task's metrics.
            weighted_metrics: metrics that sample weights apply to. Where any are given, the last
                batch of an epoch is not filled up.
            **kwargs: the further arguments are those of `keras.Model.compile`.
        """
        optimizer, loss, metrics = self._defaults(optimizer, loss, metrics)
        self._jit_choice = kwargs.setdefault("jit_compile", "auto")
        if self._jit_choice == "auto":
            kwargs["jit_compile"] = default_jit_compile()
        # Rows that fill the last batch have weight zero, which only weighted metrics honour: unless
        # sample weights are wanted in metrics, these weigh by the row mask alone (compute_metrics).
        self._fills_batches = weighted_metrics is None
        if self._fills_batches:
            metrics, weighted_metrics = None, metrics
        super().compile(
            optimizer=optimizer,
            loss=loss,
            metrics=metrics,
            weighted_metrics=weighted_metrics,
            **kwargs,
        )

    def get_compile_config(self):
        config = super().get_compile_config()
        if not config:
            return config
        if self._fills_batches:
            config["metrics"], config["weighted_metrics"] = config["weighted_metrics"], None
        # Keras notes what "auto" comes to on this backend: JAX's True is `torch.compile` on torch.
        config["jit_compile"] = self._jit_choice
        return config

    def compile_from_config(self, config):
        # Keras leaves this to classes with a `compile` of their own.
        self.compile(**keras.saving.deserialize_keras_object(config))
        self.optimizer.build(self.trainable_variables)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        if self._fills_batches:
            sample_weight = x.get(ROW_MASK) if isinstance(x, Mapping) else None
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def _feed(self, x, y, weights, batch_size, shuffle=False, class_weight=None, training=False):
        if self.preprocessor is None and is_raw(x):
            raise ValueError(
                f"This `{type(self).__name__}` has no preprocessor, so it takes no text. Build it "
                "with `preprocessor=`, or give a dict of arrays."
            )
        if not (self._is_raw(x) or isinstance(x, Mapping | Examples)):
            if y is not None:
                raise ValueError(
                    f"`{type(self).__name__}` takes texts, a dict of arrays, or a dataset that "
                    f"holds its labels. Received: x of type {type(x).__name__} with y"
                )

            def prepare(x, y, sample_weight, place=None):
                weights = self._weights(y, sample_weight, class_weight)
                return _packed(*self._batch(x, y, weights, training, place))

            if self.preprocessor is None:
                return x
            return open_dataset(x, prepare, self.preprocessor, batch_size)
        self._check_preprocessor()
        examples = self._examples(x, training)
        if not len(examples):
            raise ValueError("There must be at least one example. Received: an empty x")
        return Batches(
            examples,
            *self._targets(examples, y, weights, training),
            batch_size or 32,
            shuffle,
            fill=self._fills_batches,
            training=bool(training),
        )

    def _feed_validation(self, data, batch_size):
        x, y, sample_weight = (
            keras.utils.unpack_x_y_sample_weight(data)
            if isinstance(data, tuple)
            else (data, None, None)
        )
        return self._feed(x, y, self._weights(y, sample_weight), batch_size)

    def _check_labels(self, data):
        if isinstance(data, Batches) and data.targets is None and self.needs_labels:
            raise ValueError("Texts and arrays need labels, one for each example. Received: y=None")

    def _check_preprocessor(self):
        """Refuse a preprocessor that no longer fits the model."""

    def _is_raw(self, x):
        return self.preprocessor is not None and self.preprocessor.is_raw(x)

    def _examples(self, x, training=False):
        """Raw input, what a preprocessor's `tokenize` made of it, or a dict of arrays."""
        if isinstance(x, Examples):
            return x
        if not self._is_raw(x):
            return TensorExamples(x)
        examples = self.preprocessor.tokenize(x)
        # Outputs of tokens are predicted width by width: the fewer widths, the better.
        is_free = training is not None or self.sequence_fill is None
        if is_free and self.preprocessor.has_default_buckets and not compiles_each_shape(self):
            examples.buckets = finer(examples.buckets)
        return examples

    def _ready(self, x):
        return self.preprocessor(x) if self._is_raw(x) else x

    def make_targets(self, examples, training):
        """What `Batches` takes as targets where y is `None`, in training or in evaluation."""
        return None

    def _targets(self, examples, y, weights, training):
        """Targets and weights of the rows that the inputs became; in prediction (`training` is
        `None`) no targets are made."""
        columns = y if isinstance(y, Mapping) else {"y": y}
        for name, values in {**columns, "sample_weight": weights}.items():
            _check_count(name, values, examples.num_inputs)
        if y is not None:
            targets = self.encode_targets(y, examples)
        else:
            targets = None if training is None else self.make_targets(examples, training)
        return targets, None if weights is None else weights[examples.origin]

    def _batch(self, x, y, weights, training=False, place=None):
        """One batch of raw input or tensors, ready for a step; `place` is for `begin_pass`."""
        examples = self._examples(x, training)
        rows = np.arange(len(examples))
        inputs = examples.batch(rows)
        targets, weights = self._targets(examples, y, weights, training)
        if place is not None:
            begin_pass(targets, *place)
        if targets is not None:
            targets = batch_targets(targets, rows, inputs)
        return inputs, targets, weights

    def _weights(self, y, sample_weight, class_weight=None):
        weights = None if sample_weight is None else np.asarray(sample_weight, "float32")
        if class_weight is None:
            return weights
        if y is None:
            raise ValueError("`class_weight` needs labels. Received: y=None")
        factors = self.class_weights(y, class_weight)
        return factors if weights is None else weights * factors

    def _plan_schedule(self, steps, epochs):
        """Tell the optimizer how many batches are ahead."""
        if prepare(self.optimizer, (steps or 0) * epochs):
            self.train_function = None  # it was compiled with the schedule as it was


def _to_backend(data, repeat=False):
    if isinstance(data, TextStream):
        return as_backend_stream(data, repeat)
    return as_backend_data(data) if isinstance(data, Batches | Epochs) else data


def _count_if_stream(data):
    return data.count() if isinstance(data, TextStream) else None


def _packed(inputs, targets, weights):
    if targets is None:
        return inputs
    return (inputs, targets) if weights is None else (inputs, targets, weights)


def _check_count(name, values, count):
    if hasattr(values, "__len__") and not isinstance(values, str) and len(values) != count:
        raise ValueError(
            f"`x` and `{name}` must have the same number of examples. "
            f"Received: {count} in x, {len(values)} in {name}"
        )


def _joined(outputs, fill):
    """Outputs of several groups of rows one after another, filled up to the longest row."""
    if len(outputs) == 1:
        return outputs[0]

    def join(*arrays):
        length = max(array.shape[1] for array in arrays)
        return np.concatenate([_filled(array, length, fill) for array in arrays])

    return keras.tree.map_structure(join, *outputs)


def _filled(array, length, fill):
    missing = [(0, 0)] * array.ndim
    missing[1] = (0, length - array.shape[1])
    return np.pad(array, missing, constant_values=fill)


def _restore_order(outputs, order):
    real = order >= 0
    position = np.empty(real.sum(), dtype="int64")
    position[order[real]] = np.flatnonzero(real)
    return keras.tree.map_structure(lambda array: array[position], outputs)


def _split(x, y, sample_weight, share):
    """Cut the last `share` of the examples off, as Keras does."""
    if not 0 < share < 1:
        raise ValueError(f"`validation_split` must be in (0, 1). Received: {share}")
    if y is None and not isinstance(x, list | np.ndarray | Mapping):
        raise ValueError(
            "`validation_split` cannot divide a dataset. Give `validation_data`. Received: x of "
            f"type {type(x).__name__} without y"
        )

    def rows(values, part):
        if values is None or isinstance(values, Mapping):
            return values and {name: rows(column, part) for name, column in values.items()}
        return values[part]

    columns = list(x.values()) if isinstance(x, Mapping) else [x]
    cut = int(len(columns[0]) * (1 - share))
    if cut == 0 or cut == len(columns[0]):
        raise ValueError(
            "`validation_split` leaves no example for training or for validation. "
            f"Received: validation_split={share} with {len(columns[0])} examples"
        )
    triple = (x, y, sample_weight)
    return tuple(
        tuple(rows(values, part) for values in triple) for part in (slice(cut), slice(cut, None))
    )
