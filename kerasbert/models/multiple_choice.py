"""Multiple choice: which of several texts goes best with another."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.models.heads import pooled_input
from kerasbert.models.linear_head_task import LinearHeadTask


class FlattenChoices(keras.layers.Layer):
    """(batch, choices, length) -> (batch * choices, length)."""

    def call(self, x):
        return ops.reshape(x, (-1, ops.shape(x)[2]))

    def compute_output_shape(self, x_shape):
        return (None, x_shape[2])


class ScoresOfChoices(keras.layers.Layer):
    """Scores (batch * choices, 1) and the ids (batch, choices, length) -> (batch, choices)."""

    def call(self, scores, token_ids):
        return ops.reshape(scores, (-1, ops.shape(token_ids)[1]))

    def compute_output_spec(self, scores, token_ids):
        return keras.KerasTensor(token_ids.shape[:2], dtype="float32")


@keras.saving.register_keras_serializable(package="kerasbert")
class MultipleChoice(LinearHeadTask):
    """An encoder with a head that scores each choice (Devlin et al., 2018, section 4.4).

    A call and `predict` take the encoder's inputs with an axis of choices, each (batch, choices,
    length), and give logits (batch, choices) in float32. The number of choices is free.

    Args:
        backbone: a `kerasbert.Encoder`.
        preprocessor: a preprocessor, or `None` to take tensors only.
        dropout: rate before the output layer; `None` for the family's.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        head_dtype: dtype policy of the head; `None` for the encoder's.
        name: name of the model.
        compile: whether to compile with the defaults.

    Example:

    ```python
    import numpy as np
    import kerasbert

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    chooser = kerasbert.MultipleChoice(kerasbert.Encoder(config))
    ids = np.full((1, 3, 5), 101, "int32")  # one question with three choices
    logits = chooser.predict({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids > 0})
    assert logits.shape == (1, 3)
    ```
    """

    task = "multiple_choice"
    num_outputs = 1

    def _states(self, facts):
        backbone = self.backbone
        inputs = {
            name: keras.Input((None, None), dtype="int32", name=name)
            for name in backbone.input_names
        }
        flat = {name: FlattenChoices()(array) for name, array in inputs.items()}
        return inputs, *pooled_input(facts, backbone, backbone(flat), flat["padding_mask"])

    def _logits(self, outputs, inputs):
        return ScoresOfChoices()(outputs, inputs["token_ids"])

    def _default_loss(self):
        return keras.losses.SparseCategoricalCrossentropy(from_logits=True)
