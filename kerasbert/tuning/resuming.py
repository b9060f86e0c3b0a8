"""Training that goes on after it was killed, as if it had not been."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import keras

from kerasbert.tuning.interruption import Interruption
from kerasbert.tuning.keeping import EpochScores
from kerasbert.tuning.optimizers import batch_counter
from kerasbert.tuning.run_facts import check_can_go_on, check_same_run, facts_of
from kerasbert.tuning.run_state import captured, restore, restore_metrics, restore_random_states
from kerasbert.tuning.state_files import StateFiles


@dataclass(frozen=True)
class Place:
    """Where `fit` is to begin.

    Attributes:
        epoch: int, the epoch.
        epochs: int, the epoch before which training ends.
        batch: int, default 0: how many of the epoch's batches are done.
        is_finished: bool, default `False`: whether nothing is left to do.
    """

    epoch: int
    epochs: int
    batch: int = 0
    is_finished: bool = False


class Checkpoint(keras.callbacks.Callback):
    """Writes down where training stands, and lets the same call go on from there.

    Where `fit` of a task or a `Distiller` with this callback is killed, the same script run again
    goes on at the last state that was written, with a line that says so, and ends with the same
    weights, bit for bit, as if nothing had happened (as far as the backend itself gives the same
    results twice). A state has the variables of model, optimizer (its moments, steps, loss scale,
    averages and accumulated gradients) and metrics, those of dropout, the order of the data, the
    states of other callbacks and the history. The last two states are kept; where the newest is
    damaged, the one before is taken, with a warning.

    - A state is written at the end of every epoch, and within it as `every` says. Ctrl-C and a
      request to terminate are held back until the current step is done and its state written.
    - Once a run is finished, or was stopped by a callback, the call returns at once, with its
      weights and its history. With more epochs, a finished run goes on, unless its schedule of
      learning rates was laid over the epochs that there were.
    - Whatever else changes, such as data, batch size or model, is an error. The learning rate, if
      it is a number, and all else of the optimizer are those of the state.
    - States of other callbacks are their `state()`, put back with `set_state(state)`, where they
      have these methods, otherwise their public attributes of plain data.
    - In an epoch that is gone on with, callbacks see only its remaining batches, counted from 0.
    - Datasets of texts are read again from their beginning without tokenizing what was done, and
      must give the same each time. For datasets of ready batches, states are written at the end of
      epochs only. Generators cannot be read again, and are an error.

    Args:
        folder: str or path; for this run alone.
        every: `"epoch"` (default), or int >= 1: how many steps apart states are written.

    Raises:
        ValueError: for another `every`; in `fit`, if the folder holds the states of another run, or
            none that can be read, or if another process trains with it.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    texts, labels = ["wake me", "play jazz", "an alarm", "a song"], [0, 1, 0, 1]
    config = kerasbert.EncoderConfig(
        vocabulary_size=60, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    model = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        num_classes=2,
        preprocessor=kerasbert.TextClassifierPreprocessor(
            kerasbert.Tokenizer.train(texts, vocabulary_size=60)
        ),
    )
    model.fit(texts, labels, epochs=3, callbacks=[tuning.Checkpoint("run", every=100)])
    ```
    """

    def __init__(self, folder: str | os.PathLike, every: int | str = "epoch"):
        super().__init__()
        is_count = isinstance(every, int) and not isinstance(every, bool) and every >= 1
        if every != "epoch" and not is_count:
            raise ValueError(
                f'`every` must be "epoch" or a number of steps >= 1. Received: every={every!r}.'
            )
        self.folder = Path(folder)
        self.every = every
        self._files = StateFiles(self.folder)
        self._run: dict[str, Any] | None = None
        self._saved: dict[str, Any] | None = None

    @contextlib.contextmanager
    def opened(
        self,
        model,
        data,
        callbacks: Sequence[keras.callbacks.Callback],
        plan: Callable[[], Any],
        first_epoch: int,
        epochs: int,
        steps: int | None,
        verbose=1,
    ) -> Iterator[Place]:
        """For `fit`: holds the folder while the block runs, and says where to begin.

        Args:
            model: the model, built and compiled.
            data: what it is trained on. With `begin_epoch(epoch, skip)`, `facts()` and
                `source.seed` it can go on within an epoch.
            callbacks: the other callbacks of `fit`, one of them a `keras.callbacks.History`.
            plan: lays the optimizer's schedule over a run that begins at its present step.
            first_epoch: the epoch that the run begins with.
            epochs: the epoch before which it ends.
            steps: batches of an epoch, if known.
            verbose: 0 for no line that says where the run goes on.
        """
        self.set_model(model)
        self._data, self._steps = data, steps
        self._others = callbacks
        check_can_go_on(data, steps, in_steps=self.every != "epoch")
        message = f"Stopping when the state is written to {self.folder}; again to stop at once."
        with self._files.locked(), Interruption(message) as self._interruption:
            self._saved = self._newest(epochs)
            self._begin(plan, first_epoch, epochs)
            place = self._place(epochs)
            if verbose and self._saved is not None:
                print(self._news(place), flush=True)
            if place.is_finished:
                self._restore()
                histories = (c for c in callbacks if isinstance(c, keras.callbacks.History))
                model.history = next(histories)
            try:
                yield place
            finally:
                self._run = self._saved = None

    def on_train_begin(self, logs=None):
        if self._run is None:
            raise ValueError(
                "`Checkpoint` works in `fit` of kerasbert's models. Use "
                f"`keras.callbacks.BackupAndRestore` for others. Received: {self.model!r}."
            )
        if self._saved is not None:
            self._restore()
            self.model.stop_training = self._saved["stopped"]

    def on_epoch_begin(self, epoch, logs=None):
        self._epoch = epoch
        self._skipped = self._done = self._saved["batch"] if self._saved is not None else 0
        if self._skipped:
            restore_metrics(self.model, self._saved)
        else:
            self._saved = None

    def on_train_batch_begin(self, batch, logs=None):
        if self._saved is not None:
            restore_random_states(self._saved)
            self._saved = None

    def on_train_batch_end(self, batch, logs=None):
        if not self._in_steps:
            self._stop_if_asked()
            return
        before, self._done = self._done, self._skipped + batch + 1
        is_last = self._done >= self._steps  # the state at the end of the epoch follows
        if not is_last and (self._interruption.pending or self._is_due(before)):
            self._write(epoch=self._epoch, batch=self._done)

    def on_epoch_end(self, epoch, logs=None):
        self._write(epoch=epoch + 1)

    def on_train_end(self, logs=None):
        self._write(epoch=self._run["epochs"], is_finished=True)

    @property
    def _in_steps(self) -> bool:
        return hasattr(self._data, "begin_epoch")

    def _is_due(self, before: int) -> bool:
        if self.every == "epoch":
            return False
        start = self._epoch * self._steps
        return (start + self._done) // self.every > (start + before) // self.every

    def _newest(self, epochs: int) -> dict[str, Any] | None:
        """The state to go on with; of a run that is to have more epochs, that of its last epoch."""
        is_over = False
        for state in self._files.states():
            is_over = state["is_finished"] and not state["stopped"]
            if not (is_over and state["run"]["epochs"] < epochs):
                return state
        if is_over:
            raise ValueError(
                "The run is finished, and the state before its end cannot be read, so it cannot "
                f"have more epochs. Give it a new folder. Received: epochs={epochs}."
            )
        return None

    def _begin(self, plan, first_epoch: int, epochs: int) -> None:
        """Lay the schedule over the whole run, and refuse to go on with another one."""
        before = None if self._saved is None else self._saved["run"]
        counter = batch_counter(self.model.optimizer)
        source = getattr(self._data, "source", None)
        if before is not None:
            counter.assign(before["first_step"])
            if before["seed"] is not None:
                source.seed = before["seed"]
        plan()
        first_step = int(keras.ops.convert_to_numpy(counter))
        planned = epochs if before is None else before["epochs"]
        steps = (self._steps or 0) * (planned - first_epoch)
        facts = facts_of(self.model, self._data, first_epoch, (first_step, first_step + steps))
        if before is not None:
            check_same_run(before["facts"], facts, (planned, epochs))
        seed = getattr(source, "seed", None)
        self._run = {"epochs": epochs, "first_step": first_step, "seed": seed, "facts": facts}

    def _place(self, epochs: int) -> Place:
        saved = self._saved
        if saved is None:
            return Place(self._run["facts"]["first epoch"], epochs)
        if saved["epoch"] + bool(saved["batch"]) > epochs and not saved["stopped"]:
            raise ValueError(
                "The run in the folder is beyond that number of epochs. Give at least as many, or "
                f"another folder. Received: epochs={epochs}; epoch {saved['epoch']} is done."
            )
        end = saved["epoch"] if saved["stopped"] else epochs
        return Place(saved["epoch"], end, saved["batch"], saved["is_finished"])

    def _news(self, place: Place) -> str:
        if place.is_finished:
            return f"The run in {self.folder} is finished: its weights and history are given back."
        where = f"epoch {place.epoch + 1}, batch {place.batch + 1}"
        return f"The run in {self.folder} goes on at {where}."

    def _restore(self) -> None:
        restore(self.model, self._others, self._data, self._saved)

    def _write(self, epoch: int, batch: int = 0, is_finished: bool = False) -> None:
        state = captured(self.model, self._others, in_epoch=batch > 0)
        if state is not None:
            place = {"epoch": epoch, "batch": batch, "is_finished": is_finished}
            stopped = bool(self.model.stop_training)
            self._files.write({"run": self._run, "stopped": stopped, **place, **state})
        self._stop_if_asked()

    def _stop_if_asked(self):
        if self._interruption.pending:
            self._interruption.pass_on()


@contextlib.contextmanager
def where_to_begin(callbacks, **run) -> Iterator[Place]:
    """The place where `fit` begins: that of a `Checkpoint` among its callbacks, if there is one.

    Args:
        callbacks: those of `fit`, from `arranged`.
        **run: the further arguments of `Checkpoint.opened`.
    """
    if isinstance(callbacks[-1], Checkpoint):
        with callbacks[-1].opened(callbacks=callbacks[:-1], **run) as place:
            yield place
    else:
        run["plan"]()
        yield Place(run["first_epoch"], run["epochs"])


def arranged(callbacks: Sequence[keras.callbacks.Callback]) -> list[keras.callbacks.Callback]:
    """Callbacks in the order in which they work together.

    Scores come first, so that others see them in the logs, and a checkpoint last, after a history,
    so that it writes down what the others did.

    Raises:
        ValueError: if there are several checkpoints.
    """
    checkpoints = [each for each in callbacks if isinstance(each, Checkpoint)]
    if len(checkpoints) > 1:
        raise ValueError(f"A run has one `Checkpoint`. Received: {len(checkpoints)} of them.")
    others = [each for each in callbacks if each not in checkpoints]
    if checkpoints and not any(isinstance(each, keras.callbacks.History) for each in others):
        others.append(keras.callbacks.History())
    return sorted(others, key=lambda each: not isinstance(each, EpochScores)) + checkpoints
