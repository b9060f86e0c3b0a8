"""A small training run that can be killed and called again; as a script, with a real SIGKILL.

`python -m tests.models.killed_runs OUT '{"folder": ..., "die": ["batch", 5]}'` trains, and writes
to OUT what came of it.
"""

import json
import os
import signal
import sys

import keras
import numpy as np

from kerasbert import (
    Encoder,
    EncoderConfig,
    TextClassifier,
    TextClassifierPreprocessor,
    Tokenizer,
    tuning,
)

WORDS = ["wake", "me", "at", "seven", "play", "some", "jazz", "set", "the", "alarm", "please"]
TEXTS = [" ".join(WORDS[at % 7 : at % 7 + 1 + at % 5]) for at in range(22)]
LABELS = [index % 2 for index in range(22)]
CONFIG = EncoderConfig(
    vocabulary_size=60,
    num_layers=1,
    num_heads=2,
    hidden_dim=8,
    intermediate_dim=12,
    max_sequence_length=16,
    hidden_dropout=0.2,
    attention_dropout=0.2,
)


class Dies(keras.callbacks.Callback):
    """Ends everything: after a batch, counted from the callback's making, or around an epoch."""

    def __init__(self, death, place):
        super().__init__()
        self._death, self._place, self._batches = death, tuple(place), 0

    def on_train_batch_end(self, batch, logs=None):
        self._batches += 1
        self._reached("batch", self._batches)

    def on_epoch_begin(self, epoch, logs=None):
        self._reached("begin", epoch)

    def on_epoch_end(self, epoch, logs=None):
        self._reached("end", epoch)

    def on_train_end(self, logs=None):
        self._reached("train end")

    def _reached(self, *place):
        if place == self._place:
            self._death()


class Killed(BaseException):
    """Stands for a kill where all happens in one process."""


def killed():
    raise Killed


def kill_process():
    os.kill(os.getpid(), signal.SIGKILL)


def preprocessor():
    tokenizer = Tokenizer.train(TEXTS, vocabulary_size=60)
    return TextClassifierPreprocessor(tokenizer, sequence_length=16, buckets=())


def classifier(dtype=None, **changes):
    encoder = Encoder(CONFIG.replace(**changes), dtype=dtype)
    return TextClassifier(encoder, num_classes=2, preprocessor=preprocessor(), dropout=0.2)


def plain():
    return keras.optimizers.SGD(0.1, momentum=0.9)


def recipe(**options):
    return tuning.optimizer(learning_rate=0.05, warmup=0.3, **options)


def train(
    folder=None,
    die=(),
    every=2,
    x=TEXTS,
    y=LABELS,
    make=classifier,
    optimizer=plain,
    callbacks=(),
    death=killed,
    **options,
):
    """What a user's script does, the same each time: six batches in each of three epochs.

    Returns:
        All that two runs must have in common: a dict of arrays.
    """
    keras.utils.set_random_seed(7)
    model = make()
    model.compile(optimizer=optimizer())
    callbacks = [*callbacks, Dies(death, die)]
    if folder is not None:
        callbacks.insert(0, tuning.Checkpoint(folder, every=every))
    options = {"batch_size": 4, "epochs": 3, "verbose": 0, **options}
    history = model.fit(x, y, callbacks=callbacks, **options).history
    variables = [*model.variables, *model.optimizer.variables]
    return {
        **{f"{at:03d} {v.name}": keras.ops.convert_to_numpy(v) for at, v in enumerate(variables)},
        **{f"history {name}": np.array(values) for name, values in history.items()},
    }


def with_everything(**settings):
    """Scaled losses, averaged weights, accumulated gradients, a schedule, layers that unfreeze, and
    a value that gets worse, so that weights of before the kill are put back at the end."""
    return train(
        make=lambda: classifier("mixed_float16"),
        optimizer=lambda: recipe(gradient_accumulation_steps=2, use_ema=True),
        callbacks=[
            tuning.GradualUnfreezing(),
            keras.callbacks.EarlyStopping(
                "loss", mode="max", patience=2, restore_best_weights=True
            ),
        ],
        **settings,
    )


def assert_same(found, expected):
    """Bit for bit."""
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_array_equal(found[name], value, err_msg=name)


if __name__ == "__main__":
    np.savez(sys.argv[1], **with_everything(death=kill_process, **json.loads(sys.argv[2])))
