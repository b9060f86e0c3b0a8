"""Pearson's correlation as a Keras metric."""

from __future__ import annotations

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="kerasbert")
class PearsonCorrelation(keras.metrics.Metric):
    """Pearson's correlation of labels and outputs over all batches, as the function `pearson`.

    (`keras.metrics.PearsonCorrelation` gives the mean of correlations within batches.)
    `update_state(y_true, y_pred, sample_weight=None)` takes numbers (B,) or (B, 1), of which each
    pair counts as much as its weight (B,). The result is NaN while either series is constant.

    Means and squared deviations are updated batch by batch (Chan, Golub and LeVeque, 1979), which
    stays accurate in float32 where sums of squares do not.

    Args:
        name: Name of the metric. Defaults to `"pearson"`.
        dtype: Dtype of its state; `None` (default) for Keras's float type.

    Example:

    >>> metric = PearsonCorrelation()
    >>> metric.update_state([1.0, 2.0], [0.5, 0.7])
    >>> metric.update_state([3.0], [0.9])
    >>> round(float(metric.result()), 4)
    1.0
    """

    def __init__(self, name="pearson", dtype=None):
        super().__init__(name=name, dtype=dtype)
        self.total = self.add_variable((), "zeros", dtype=self.dtype, name="total")
        self.means = self.add_variable((2,), "zeros", dtype=self.dtype, name="means")
        # Of labels, of outputs, and their product.
        self.deviations = self.add_variable((3,), "zeros", dtype=self.dtype, name="deviations")

    def update_state(self, y_true, y_pred, sample_weight=None):
        y_true, y_pred = (ops.reshape(ops.cast(y, self.dtype), (-1,)) for y in (y_true, y_pred))
        values = ops.stack([y_true, y_pred])  # (2, B)
        weights = ops.ones_like(y_true)
        if sample_weight is not None:
            weights = ops.reshape(ops.cast(sample_weight, self.dtype), (-1,))
        total = ops.sum(weights)
        # Relative to one of its values, the mean of a constant series is exact.
        origin = ops.max(ops.where(weights > 0, values, -float("inf")), axis=1, keepdims=True)
        origin = ops.where(total > 0, origin, 0.0)
        values = ops.where(weights > 0, values - origin, 0.0)
        mean = _over(ops.sum(values * weights, axis=1, keepdims=True), total)
        batch = _products(values - mean, weights)
        means = ops.squeeze(origin + mean, 1)
        new_total = self.total + total
        shift = means - self.means
        between = _products(ops.expand_dims(shift, 1), _over(self.total * total, new_total))
        self.deviations.assign_add(batch + between)
        self.means.assign_add(shift * _over(total, new_total))
        self.total.assign(new_total)

    def result(self):
        of_labels, of_outputs, of_both = (self.deviations[index] for index in range(3))
        return of_both / (ops.sqrt(of_labels) * ops.sqrt(of_outputs))


def _products(values, weights):
    """Weighted sums of squares and of products of two series (2, n), as (3,)."""
    x, y = values[0], values[1]
    return ops.stack([ops.sum(product * weights) for product in (x * x, y * y, x * y)])


def _over(numerator, denominator):
    return numerator / ops.where(denominator > 0, denominator, 1.0)
