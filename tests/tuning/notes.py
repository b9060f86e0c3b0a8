"""Callbacks that note what happens in a fit."""

import keras
import numpy as np

from tests.tuning.tuned_models import numpy, values_of


class Rates(keras.callbacks.Callback):
    """Notes the learning rate before each batch."""

    def __init__(self):
        super().__init__()
        self.rates = []

    def on_train_batch_begin(self, batch, logs=None):
        self.rates.append(float(numpy(self.model.optimizer.learning_rate)))


class Moved(keras.callbacks.Callback):
    """Notes for each epoch the paths of the weights that moved in it."""

    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_begin(self, epoch, logs=None):
        self._before = values_of(self.model)

    def on_epoch_end(self, epoch, logs=None):
        after = values_of(self.model)
        self.epochs.append(
            {p for p, value in self._before.items() if not np.array_equal(after[p], value)}
        )
