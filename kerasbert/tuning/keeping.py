"""Any score of the model after each epoch, and the best weights by it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping

import keras

from kerasbert.checkpoints.random_states import set_torch_states, torch_states


class EpochScores(keras.callbacks.Callback):
    """Scores the model after each epoch, for other callbacks and the history.

    With it, `keras.callbacks.EarlyStopping(monitor="val_f1", mode="max")`, `KeepBest` and others
    can watch whatever can be computed, such as the official F1 on a development set. In `fit` of
    kerasbert's models, other callbacks see the scores wherever they stand in the list.

    Args:
        function: takes the model, and gives a dict of names and numbers.
        prefix: str, default `"val_"`; put before the names.

    Raises:
        TypeError: in `fit`, if the function gives something else.
        ValueError: in `fit`, if a name is taken by another value of the epoch.

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


    def count_right(model):
        return {"right": (model.predict(texts, verbose=0).argmax(-1) == labels).sum()}


    scores, best = tuning.EpochScores(count_right), tuning.KeepBest("val_right", mode="max")
    model.fit(texts, labels, epochs=3, callbacks=[best, scores], verbose=0)
    ```
    """

    def __init__(self, function: Callable[[keras.Model], Mapping], prefix: str = "val_"):
        super().__init__()
        self._function, self._prefix = function, prefix

    def on_epoch_end(self, epoch, logs=None):
        states = torch_states()
        scores = self._function(self.model)
        set_torch_states(states)  # so that training goes on as it does without scores
        if not isinstance(scores, Mapping):
            raise TypeError(
                "The function of `EpochScores` must give a dict of names and numbers. Received: "
                f"{scores!r}."
            )
        for name, value in scores.items():
            full_name = f"{self._prefix}{name}"
            if full_name in logs:
                raise ValueError(
                    "A score needs a name of its own; choose another, or another `prefix`. "
                    f"Received: {full_name!r}, beside {sorted(logs)}."
                )
            logs[full_name] = _as_float(full_name, value)


class KeepBest(keras.callbacks.EarlyStopping):
    """Gives the model its best weights back at the end, without stopping earlier.

    The weights are those after the epoch with the best value. They are part of the states that
    `Checkpoint` writes. To stop early too, take `keras.callbacks.EarlyStopping` with
    `restore_best_weights=True`.

    Args:
        monitor: str, default `"val_loss"`: the value, as in the history.
        mode: `"min"`, `"max"` or `"auto"` (default), which knows losses and metrics of `compile`,
            but no other scores.
        folder: str, path or `None` (default). With a folder, the model is saved there as a preset
            each time that it is the best, so that it is there even if training never ends.

    Raises:
        ValueError: in `fit`, if the model has no `save_to_preset` for the folder.
    """

    def __init__(
        self,
        monitor: str = "val_loss",
        mode: str = "auto",
        folder: str | os.PathLike | None = None,
    ):
        super().__init__(monitor=monitor, mode=mode, patience=math.inf, restore_best_weights=True)
        self.folder = folder

    def on_train_begin(self, logs=None):
        super().on_train_begin(logs)
        if self.folder is not None and not hasattr(self.model, "save_to_preset"):
            raise ValueError(
                "`folder` needs a model that can be saved as a preset. Leave it out, and save what "
                f"was trained afterwards. Received: {type(self.model).__name__}."
            )

    def on_epoch_end(self, epoch, logs=None):
        super().on_epoch_end(epoch, logs)
        if self.folder is not None and self.best_epoch == epoch and self.best is not None:
            self.model.save_to_preset(self.folder)


def _as_float(name: str, value) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"Scores must be numbers. Received: {value!r} of type {type(value).__name__} for "
            f"{name!r}."
        ) from error
