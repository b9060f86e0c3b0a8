"""F1 and Matthews' correlation as Keras metrics: both follow from counts by class."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.metrics.classification import AVERAGES


class ClassCounts(keras.metrics.Metric):
    """Counts, by class, the examples that were of it, were predicted to be of it, and both.

    `update_state(y_true, y_pred, sample_weight=None)` takes classes int (B,) or (B, 1) and logits
    (B, num_classes); with `multi_label`, zeros and ones (B, num_classes) and logits, of which those
    above zero are predictions. Weights are (B,); an example counts as much as its weight.

    Args:
        num_classes: Number of classes.
        multi_label: Whether an example has any number of classes.
        name: Name of the metric.
        dtype: Dtype of its state; `None` (default) for Keras's float type.
    """

    def __init__(self, num_classes, multi_label=False, name=None, dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.num_classes, self.multi_label = num_classes, multi_label
        self.hits, self.predicted, self.true = (
            self.add_variable((num_classes,), "zeros", dtype=self.dtype, name=name)
            for name in ("hits", "predicted", "true")
        )

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_pred = ops.convert_to_tensor(y_pred)
        if self.multi_label:
            true, predicted = ops.cast(y_true, self.dtype), ops.cast(y_pred > 0, self.dtype)
        else:
            classes = ops.reshape(ops.cast(y_true, "int32"), (-1,))
            true = ops.one_hot(classes, self.num_classes, dtype=self.dtype)
            predicted = ops.one_hot(ops.argmax(y_pred, axis=-1), self.num_classes, dtype=self.dtype)
        weights = ops.ones((1, 1), self.dtype)
        if sample_weight is not None:
            weights = ops.reshape(ops.cast(sample_weight, self.dtype), (-1, 1))
        self.hits.assign_add(ops.sum(true * predicted * weights, axis=0))
        self.predicted.assign_add(ops.sum(predicted * weights, axis=0))
        self.true.assign_add(ops.sum(true * weights, axis=0))


@keras.saving.register_keras_serializable(package="kerasbert")
class F1(ClassCounts):
    """F1 over all batches, as the function `f1` and scikit-learn's `f1_score` have it.

    `update_state` takes classes (B,) or (B, 1) and logits (B, num_classes); with `multi_label`,
    zeros and ones (B, num_classes) and logits, of which those above zero are predictions; and
    weights (B,).

    Args:
        num_classes: Number of classes. Defaults to 2.
        average: `"binary"` (default): F1 of class `positive` of two; `"macro"`: mean over the
            classes that occurred (with `multi_label`: over all); `"micro"`: of all decisions.
        positive: Index of the positive class, used with `"binary"` only. Defaults to 1.
        multi_label: Whether an example has any number of classes. Defaults to `False`.
        name: Name of the metric. Defaults to `"f1"`.
        dtype: Dtype of its state; `None` (default) for Keras's float type.

    Raises:
        ValueError: `average` is something else, or does not fit the number of classes.

    Example:

    >>> metric = F1()
    >>> metric.update_state([1, 1, 0], [[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    >>> round(float(metric.result()), 4)
    0.6667
    """

    def __init__(
        self,
        num_classes=2,
        average="binary",
        positive=1,
        multi_label=False,
        name="f1",
        dtype=None,
    ):
        super().__init__(num_classes, multi_label, name, dtype)
        if average not in AVERAGES:
            raise ValueError(f"`average` must be one of {AVERAGES}. Received: average={average!r}.")
        if average == "binary" and (num_classes != 2 or multi_label or positive not in (0, 1)):
            raise ValueError(
                'The average "binary" is for one of two classes, `positive` 0 or 1; of more, take '
                f'"macro" or "micro". Received: num_classes={num_classes}, '
                f"multi_label={multi_label}, positive={positive!r}."
            )
        self.average, self.positive = average, positive

    def result(self):
        found = self.predicted + self.true  # an example that was found rightly counts twice
        if self.average == "micro":
            return _ratio(2 * ops.sum(self.hits), ops.sum(found))
        scores = _ratio(2 * ops.convert_to_tensor(self.hits), found)
        if self.average == "binary":
            return scores[self.positive]
        occurred = ops.ones_like(found) if self.multi_label else ops.cast(found > 0, self.dtype)
        return _ratio(ops.sum(scores), ops.sum(occurred))

    def get_config(self):
        return {
            **super().get_config(),
            "num_classes": self.num_classes,
            "average": self.average,
            "positive": self.positive,
            "multi_label": self.multi_label,
        }


@keras.saving.register_keras_serializable(package="kerasbert")
class MatthewsCorrelation(ClassCounts):
    """Matthews' correlation over all batches, as the function `matthews` has it.

    `update_state` takes classes (B,) or (B, 1), logits (B, num_classes) and weights (B,).

    Args:
        num_classes: Number of classes. Defaults to 2.
        name: Name of the metric. Defaults to `"matthews"`.
        dtype: Dtype of its state; `None` (default) for Keras's float type.

    Example:

    >>> metric = MatthewsCorrelation()
    >>> metric.update_state([1, 0], [[0.0, 1.0], [1.0, 0.0]])
    >>> float(metric.result())
    1.0
    """

    def __init__(self, num_classes=2, name="matthews", dtype=None):
        super().__init__(num_classes, name=name, dtype=dtype)

    def result(self):
        # Shares instead of counts: products of counts would not be exact in float32.
        total = ops.sum(self.true)
        hits, predicted, true = (
            _ratio(ops.convert_to_tensor(count), total)
            for count in (self.hits, self.predicted, self.true)
        )
        spread = (1 - ops.sum(predicted**2)) * (1 - ops.sum(true**2))
        return _ratio(ops.sum(hits) - ops.sum(predicted * true), ops.sqrt(ops.maximum(spread, 0)))

    def get_config(self):
        return {**super().get_config(), "num_classes": self.num_classes}


def _ratio(numerator, denominator):
    """0 where the denominator is 0."""
    return ops.where(denominator > 0, numerator / ops.where(denominator > 0, denominator, 1), 0.0)
