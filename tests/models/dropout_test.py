"""Dropout is active in the steps of `fit`, and nowhere else."""

import inspect

import keras
import pytest

import kerasbert
from kerasbert.models.task import EncoderTask

TASKS = [
    each
    for each in vars(kerasbert).values()
    if inspect.isclass(each) and issubclass(each, EncoderTask)
]


@pytest.mark.parametrize("task", [*TASKS, kerasbert.Encoder], ids=lambda task: task.__name__)
def test_keras_sees_that_a_model_can_be_told_that_it_trains(task):
    # Its trainers look at the signature; without this name they never say it.
    assert "training" in inspect.signature(task.call).parameters


@pytest.mark.parametrize(("rate", "is_random"), [(0.0, False), (0.5, True)])
def test_the_loss_of_a_step_is_random_with_dropout_only(
    config, preprocessor, texts, labels, rate, is_random
):
    config = config.replace(hidden_dropout=rate, attention_dropout=rate)
    model = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        labels=["alarm", "music"],
        preprocessor=preprocessor,
        dropout=rate,
    )
    model.compile(optimizer=keras.optimizers.SGD(0.0))  # nothing changes but the dropout

    def losses(run):
        return {round(run(texts, labels, batch_size=7), 6) for _ in range(3)}

    def fit(*data, **options):
        return model.fit(*data, shuffle=False, verbose=0, **options).history["loss"][0]

    def evaluate(*data, **options):
        return model.evaluate(*data, verbose=0, **options)[0]

    assert (len(losses(fit)) > 1) == is_random
    assert len(losses(evaluate)) == 1
