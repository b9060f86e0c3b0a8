"""A guard that ends training when the loss becomes NaN, and keeps the best weights so far."""

from __future__ import annotations

import math

import keras
import numpy as np


class NaNGuard(keras.callbacks.Callback):
    """Stop with an error when the loss becomes NaN or infinite, with the best weights put back.

    The best weights are those after the epoch of the lowest validation loss (training loss, if
    nothing validates); those from before training, if no epoch was finished.
    """

    def on_train_begin(self, logs=None):
        self._best_loss = math.inf
        self._best_epoch = None
        self._best_weights = _copied_weights(self.model)

    def on_train_batch_end(self, batch, logs=None):
        loss = (logs or {}).get("loss")
        if loss is not None and not math.isfinite(loss):
            self._stop(f"The loss became NaN or infinite at batch {batch + 1} of this epoch.")

    def on_epoch_end(self, epoch, logs=None):
        loss = (logs or {}).get("val_loss", (logs or {}).get("loss", math.inf))
        weights = _copied_weights(self.model)
        if math.isnan(loss) or not all(np.isfinite(weight).all() for weight in weights):
            # The loss of the last step came before the update that broke the weights.
            self._stop(f"Loss or weights were NaN or infinite at the end of epoch {epoch + 1}.")
        if loss < self._best_loss:
            self._best_loss, self._best_epoch, self._best_weights = loss, epoch, weights

    def on_train_end(self, logs=None):
        self._best_weights = None

    def state(self):
        """What a run that goes on in another process needs to know."""
        return {
            "loss": self._best_loss,
            "epoch": self._best_epoch,
            "weights": self._best_weights,
        }

    def set_state(self, state):
        """Put back what `state` gave."""
        self._best_loss, self._best_epoch = state["loss"], state["epoch"]
        self._best_weights = state["weights"]

    def _stop(self, problem):
        self.model.set_weights(self._best_weights)
        _clear_broken_state(self.model.optimizer)
        since = "before training" if self._best_epoch is None else f"epoch {self._best_epoch + 1}"
        raise FloatingPointError(
            f"{problem} The weights of {since} were put back. Try a smaller learning rate, clip "
            "gradients, or check the labels and weights for NaN; with float16, use "
            "`mixed_float16`."
        )


def _clear_broken_state(optimizer):
    """Zero the moments that took up NaN, so that the model can be trained again."""
    for variable in optimizer.variables:
        if not np.isfinite(keras.ops.convert_to_numpy(variable.value)).all():
            variable.assign(keras.ops.zeros(variable.shape, variable.dtype))


def _copied_weights(model):
    # `get_weights` may give views of the variables, which training then changes.
    return [np.array(weight, copy=True) for weight in model.get_weights()]
