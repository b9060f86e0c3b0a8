"""Unfreezing from the head down while training goes on (Howard & Ruder, 2018, arXiv:1801.06146)."""

from __future__ import annotations

import math

import keras

from kerasbert.tuning.adam_w import AdamW
from kerasbert.tuning.optimizers import inner


class GradualUnfreezing(keras.callbacks.Callback):
    """Trains the head first, and one more layer from the top down after each stage; embeddings come
    last (section 3.3 of the paper).

    All of it happens in one `fit`, which compiles one training step: what is still frozen has a
    rate of zero and stays as it is to the bit, but its gradients are computed all the same. They
    count for clipping, and move the optimizer's averages, so that a layer starts with those of its
    own gradients. A model of n layers trains as a whole from stage n + 1 on. After `fit`, all of it
    is trainable.

    With `tuning.optimizer(model, layer_decay=1 / 2.6, cycles=epochs)` it is the paper's whole
    recipe (section 3.2): rates that fall from layer to layer, and in each epoch a warm-up and decay
    of its own.

    Args:
        epochs_per_layer: float > 0, how long a stage is, in epochs. Default 1. With 0.5, two more
            layers train in each epoch.

    Raises:
        ValueError: for other values; in `fit`, if the optimizer is not `tuning.AdamW`, which
            `tuning.optimizer` and a task's `compile` give.

    Example:

    ```python
    import numpy as np
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    ids = np.array([[101, 7592, 102], [101, 2088, 102]])
    batch = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids > 0}
    classifier.compile(tuning.optimizer(classifier, layer_decay=1 / 2.6, cycles=4))
    classifier.fit(batch, [0, 1], epochs=4, callbacks=[tuning.GradualUnfreezing()], verbose=0)
    ```
    """

    def __init__(self, epochs_per_layer: float = 1):
        super().__init__()
        is_number = isinstance(epochs_per_layer, int | float)
        if not (is_number and 0 < epochs_per_layer < math.inf):
            raise ValueError(
                "`epochs_per_layer` must be a positive number. "
                f"Received: epochs_per_layer={epochs_per_layer!r}"
            )
        self.epochs_per_layer = epochs_per_layer

    def on_epoch_begin(self, epoch, logs=None):
        stage = math.floor(epoch / self.epochs_per_layer + 1e-6)  # 0.3 / 0.1 is less than 3
        optimizer = self._optimizer()
        optimizer.train_from(optimizer.top - stage)

    def on_train_end(self, logs=None):
        self._optimizer().train_from(0)

    def _optimizer(self) -> AdamW:
        optimizer = inner(self.model.optimizer)
        if not isinstance(optimizer, AdamW):
            raise ValueError(
                "`GradualUnfreezing` needs the optimizer `kerasbert.tuning.AdamW`, such as "
                f"`tuning.optimizer()` gives. Received: {type(optimizer).__name__}"
            )
        if not optimizer.built:
            self.model.optimizer.build(self.model.trainable_variables)
        return optimizer
