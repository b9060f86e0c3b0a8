"""One run of Keras's `fit`, from the place where it is to begin."""

from __future__ import annotations

import warnings

import keras

from kerasbert.models.epochs import EpochOrder, Epochs
from kerasbert.models.guarding import NaNGuard
from kerasbert.tuning.resuming import arranged, where_to_begin


def train(model, x, data, callbacks, *, initial_epoch, epochs, steps, plan, verbose, **options):
    """Train with a guard against NaN, from the beginning or where a `Checkpoint` goes on.

    Args:
        model: the model, compiled.
        x: what Keras is given to train on.
        data: the same before it was made ready for the backend.
        callbacks: what `fit` was given.
        initial_epoch, epochs, verbose: as for `keras.Model.fit`.
        steps: batches of an epoch, or `None` where that is not known.
        plan: lays the optimizer's schedule over the run that begins at its present step.
        **options: further arguments of `keras.Model.fit`.

    Returns:
        A `keras.callbacks.History`.
    """
    if isinstance(callbacks, keras.callbacks.CallbackList):
        callbacks = callbacks.callbacks
    callbacks = arranged([*keras.tree.flatten(callbacks or []), NaNGuard()])
    run = {"model": model, "data": data, "plan": plan, "steps": steps, "verbose": verbose}
    with where_to_begin(callbacks, first_epoch=initial_epoch, epochs=epochs, **run) as place:
        if place.is_finished:
            return model.history
        if isinstance(data, Epochs):
            callbacks = [EpochOrder(data, place.batch), *callbacks]
        options.update(initial_epoch=place.epoch, epochs=place.epochs, verbose=verbose)
        with warnings.catch_warnings():
            if place.batch:  # the first epoch ends early, as it should
                warnings.filterwarnings("ignore", "Your input ran out of data")
            return _fit(model, x, callbacks=callbacks, **options)


def _fit(model, x, **options):
    try:
        return keras.Model.fit(model, x, **options)
    except BaseException:
        # On JAX the weights are out of the variables while training runs: put them back, so that
        # an interrupted model can be used and saved.
        if hasattr(model, "jax_state_sync"):
            model.jax_state_sync()
        raise
