"""kerasbert itself, on the backend that `KERAS_BACKEND` names."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import keras
import numpy as np
from jobs import labels_of
from outcome import Outcome

import kerasbert
from kerasbert import tuning

STRATEGIES = {
    "full": lambda model: model,
    "frozen": lambda model: tuning.freeze(model),
    "layer_decay": lambda model: model,
    "lora": lambda model: tuning.lora(model, rank=8),
    "adapter": lambda model: tuning.adapters(model, dim=32, placement="pfeiffer"),
    "prompt": lambda model: tuning.prompts(model, length=20),
}
# What trains little needs a higher rate than the whole model (Hu et al., 2021, appendix D; Houlsby
# et al., 2019, section 3.1; Lester et al., 2021, section 3.1).
RATES = {"frozen": 1e-3, "lora": 5e-4, "adapter": 1e-3, "prompt": 5e-3}


class EpochSeconds(keras.callbacks.Callback):
    """Notes how long each epoch took."""

    def __init__(self):
        super().__init__()
        self.seconds, self.steps = [], 0

    def on_epoch_begin(self, epoch, logs=None):
        self._start = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self.steps = batch + 1

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(time.perf_counter() - self._start)


def tune(job, train, dev, seed, strategy, encoder) -> Outcome:
    """Fine-tune `encoder` on `train` and predict `dev`."""
    keras.utils.set_random_seed(seed)
    model = STRATEGIES[strategy](_task(job, train, encoder))
    model.compile(
        optimizer=tuning.optimizer(
            model,
            learning_rate=RATES.get(strategy, job.learning_rate),
            layer_decay=0.8 if strategy == "layer_decay" else None,
        ),
        metrics=[],
    )
    clock = EpochSeconds()
    model.fit(
        train.x,
        train.y,
        batch_size=job.batch_size,
        epochs=job.epochs,
        callbacks=[clock],
        verbose=0,
    )
    return Outcome(
        _predictions(job, model, dev),
        clock.seconds,
        clock.steps,
        sum(int(np.prod(variable.shape)) for variable in model.trainable_variables),
        _saved_bytes(model),
    )


def _task(job, train, encoder):
    classes = {
        "classifier": kerasbert.TextClassifier,
        "regression": kerasbert.TextClassifier,
        "tagging": kerasbert.TokenClassifier,
        "question_answering": kerasbert.QuestionAnswerer,
        "multiple_choice": kerasbert.MultipleChoice,
    }
    cls = classes[job.kind]
    tokenizer = kerasbert.Tokenizer.from_preset(encoder)
    preprocessor = cls.preprocessor_cls(tokenizer, sequence_length=job.sequence_length)
    heads = {
        "regression": lambda: {"num_classes": 1},
        "classifier": lambda: {"labels": labels_of(train)},
        "tagging": lambda: {"labels": labels_of(train)},
    }
    head = heads.get(job.kind, dict)()
    return cls.from_preset(encoder, preprocessor=preprocessor, **head)


def _predictions(job, model, dev):
    if job.kind == "tagging":
        return model.predict_tags(dev.x)
    if job.kind == "question_answering":
        return model.predict_answers(dev.x)
    logits = model.predict(dev.x, verbose=0)
    if job.kind == "regression":
        return logits[:, 0].tolist()
    best = logits.argmax(axis=-1).tolist()
    return [model.labels[index] for index in best] if job.kind == "classifier" else best


def _saved_bytes(model) -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "delta.safetensors"
        tuning.save_delta(model, path)
        return path.stat().st_size
