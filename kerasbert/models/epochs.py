"""The batches of a training run, in epochs of one length that can be begun anywhere."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from kerasbert.checkpoints.random_states import set_torch_states, torch_states


class Epochs(keras.utils.PyDataset):
    """Epochs of equally many batches, from data that has batches without end.

    Which batches an epoch has depends on its number alone, not on what was read before: so a run
    that was broken off can go on where it stood.

    Args:
        source: has `batch_at(position)`, which gives the batch of a position counted from the
            beginning of training, `seed`, from which the order is drawn, `settings`, a dict of what
            else decides it, and `contents()`, which gives the data in an order of their own.
        steps: batches of an epoch.
        first_epoch: the number of the first epoch.
    """

    def __init__(self, source, steps: int, first_epoch: int = 0):
        super().__init__()
        self.source, self.steps, self._first_epoch = source, steps, first_epoch
        self._start = self._skipped = 0

    def begin_epoch(self, number: int, skip: int = 0) -> None:
        """Go to an epoch, and leave its first `skip` batches out."""
        self._start = (number - self._first_epoch) * self.steps + skip
        self._skipped = skip

    def __len__(self):
        return self.steps

    @property
    def num_batches(self):
        """Batches that are left of the epoch."""
        return self.steps - self._skipped

    def __getitem__(self, index):
        return self.source.batch_at(self._start + index)

    def facts(self) -> dict[str, Any]:
        """What tells these data from others: a digest of all of them, and how they are batched."""
        return {
            "data": digest(self.source.contents()),
            "steps of an epoch": self.steps,
            **self.source.settings,
        }


class EpochOrder(keras.callbacks.Callback):
    """Tells the data which epoch begins, and with which of its batches the first one does.

    What comes after an epoch does not depend on how Keras has ended it, or on its validation: on
    torch, each loader that is made for data draws random numbers.
    """

    def __init__(self, data: Epochs, skip: int = 0):
        super().__init__()
        self._data, self._skip, self._states = data, skip, []

    def on_epoch_begin(self, epoch, logs=None):
        self._data.begin_epoch(epoch, self._skip)
        self._skip, self._states = 0, []

    def on_train_batch_begin(self, batch, logs=None):
        if batch >= self._data.num_batches:
            # Keras ends the epoch by it. On TensorFlow and JAX it would begin a step before it
            # sees that there are no data, and that step's graph would count in dropout's state.
            raise StopIteration

    def on_train_batch_end(self, batch, logs=None):
        if batch + 1 >= self._data.num_batches:
            self._states = torch_states()

    def on_epoch_end(self, epoch, logs=None):
        set_torch_states(self._states)


def new_seed(of=None) -> int:
    """A seed for a run through data: that of what draws, else from NumPy's global generator."""
    seed = of.new_seed() if hasattr(of, "new_seed") else None
    return np.random.randint(2**31) if seed is None else seed


def digest(structures: Iterable) -> str:
    """A short digest of the arrays in any structures."""
    state = hashlib.blake2b(digest_size=8)
    for structure in structures:
        for leaf in keras.tree.flatten(structure):
            array = np.ascontiguousarray(() if leaf is None else leaf)
            state.update(f"{array.dtype}{array.shape}".encode())
            state.update(array.tobytes())
    return state.hexdigest()
