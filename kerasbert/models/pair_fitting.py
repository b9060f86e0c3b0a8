"""Training on pairs of texts that are encoded apart, with scores and without."""

from __future__ import annotations

from collections.abc import Mapping

import keras
import numpy as np
from keras import ops

from kerasbert.metrics import PearsonCorrelation
from kerasbert.models.feeding import ROW_MASK
from kerasbert.models.pairs import cosines, in_batch_negatives_loss
from kerasbert.text.inputs import PAIR_FORM, is_paired, texts_one_by_one


class PairFitting:
    """Mixin for models that give a vector for each text: (B, T) -> (B, D).

    Inputs of pairs (B, 2, T) give (B, 2, D). With scores, the compiled loss and metrics are of the
    cosine of each pair; without, the loss is that of in-batch negatives. A subclass has `scale`,
    the factor of the cosines in the latter.
    """

    def __call__(self, inputs, *args, **kwargs):
        return _for_each_text(super().__call__, inputs, *args, **kwargs)

    def call(self, inputs, training=None, mask=None, **kwargs):
        return _for_each_text(super().call, inputs, training=training, mask=mask, **kwargs)

    def predict(self, x, batch_size=None, verbose="auto", **kwargs):
        """Embeddings of texts, of pairs, or of the encoder's inputs of either.

        Returns:
            float32 array (n, dim); (n, 2, dim) for pairs.
        """
        # One by one: a graph of TensorFlow's takes inputs of one rank.
        found = super().predict(self._one_by_one(x), batch_size, verbose, **kwargs)
        return found.reshape(-1, 2, found.shape[-1]) if _holds_pairs(x) else found

    def predict_on_batch(self, x):
        """Embeddings of one batch, as `predict` gives them."""
        found = super().predict_on_batch(self._one_by_one(x))
        return found.reshape(-1, 2, found.shape[-1]) if _holds_pairs(x) else found

    def _one_by_one(self, x):
        if not _holds_pairs(x) or (is_paired(x) and self.preprocessor is None):
            return x
        if is_paired(x):
            return texts_one_by_one(x)
        return {name: ops.convert_to_numpy(array) for name, array in _as_rows(x).items()}

    def encode_targets(self, y, examples=None):
        """Scores to float32 (n, 1).

        Raises:
            ValueError: for single texts, and for scores that no cosine can be.
        """
        _check_examples(examples)
        try:
            scores = np.asarray(y, "float32").reshape(len(y), 1)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"Scores must be numbers, one for each pair. Received: y={y!r:.100}"
            ) from error
        wrong = np.flatnonzero(~(np.abs(scores) <= 1))
        if len(wrong):
            raise ValueError(
                "Scores must be from -1 to 1, as cosines are: divide scores from 0 to 5 by 5. "
                f"Received: {scores[wrong[0], 0]} at position {wrong[0]}"
            )
        return scores

    def make_targets(self, examples, training):
        """For pairs without scores: which row's second text belongs to each first text."""
        _check_examples(examples)
        return {"partners": _OwnPartners()}

    def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
        _check_pairs(y_pred)
        if _has_scores(y):
            return super().compute_loss(x, y, cosines(y_pred), sample_weight, training)
        partners = ops.arange(ops.shape(y_pred)[0]) if y is None else y["partners"]
        loss = in_batch_negatives_loss(y_pred, partners, sample_weight, self.scale)
        return sum((ops.sum(each) for each in self.losses), start=loss)

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        found = cosines(y_pred)
        if _has_scores(y):
            return super().compute_metrics(x, y, found, sample_weight)
        # Metrics of scores have nothing to say of pairs without scores; but Keras wants them built.
        nothing = ops.zeros_like(found)
        inputs = {ROW_MASK: nothing[:, 0]}
        return {"loss": super().compute_metrics(inputs, nothing, found, nothing[:, 0])["loss"]}

    def _default_loss(self):
        return keras.losses.MeanSquaredError()

    def _default_metrics(self):
        return [PearsonCorrelation()]


class _OwnPartners:
    """Targets for `Batches`: the second text of each row belongs to its first."""

    def batch(self, rows, inputs) -> np.ndarray:
        """int32 (batch,): the rows themselves."""
        return np.arange(len(rows), dtype="int32")


def _has_scores(y) -> bool:
    return y is not None and not isinstance(y, dict)


def _for_each_text(compute, inputs, *args, **kwargs):
    """Call with inputs (B, T), or with those of pairs (B, 2, T) as if their texts were rows."""
    if not _holds_pairs(inputs):
        return compute(inputs, *args, **kwargs)
    embeddings = compute(_as_rows(inputs), *args, **kwargs)
    return ops.reshape(embeddings, (-1, 2, embeddings.shape[-1]))


def _holds_pairs(x) -> bool:
    """Whether raw input or a dict of arrays is of pairs."""
    arrays = x.values() if isinstance(x, Mapping) else ()
    return is_paired(x) or any(len(getattr(array, "shape", ())) == 3 for array in arrays)


def _as_rows(inputs) -> dict:
    """Inputs (B, 2, T) as (2 B, T)."""
    return {
        name: ops.reshape(array, (-1, ops.shape(array)[2])) if len(array.shape) == 3 else array
        for name, array in inputs.items()
    }


def _check_examples(examples):
    if examples is not None:
        _check_pairs(examples.batch(np.arange(1))["token_ids"])


def _check_pairs(array):
    """Refuse arrays that are not (B, 2, ...)."""
    if len(array.shape) != 3 or array.shape[1] not in (2, None):
        raise ValueError(
            f"An embedder is trained on pairs of texts, {PAIR_FORM}, or inputs (batch, 2, length). "
            f"Received: an array of shape {tuple(array.shape)}"
        )
