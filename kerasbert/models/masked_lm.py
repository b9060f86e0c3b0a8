"""Masked language modelling: which token stands at a place."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.models.heads import MaskedLMHead
from kerasbert.models.losses import token_loss
from kerasbert.models.task import EncoderTask, freeze_pooler

MASK_POSITIONS = "mask_positions"


@keras.saving.register_keras_serializable(package="kerasbert")
class MaskedLM(EncoderTask):
    """An encoder with a head over the vocabulary, tied to the token embedding (Devlin et al., 2018,
    section 3.1).

    A call takes the encoder's input dict, and gives logits (batch, length, vocabulary_size) in
    float32; with an entry `mask_positions` (batch, n) int32 only those at these positions, (batch,
    n, vocabulary_size).

    Args:
        backbone: a `kerasbert.Encoder`.
        preprocessor: a preprocessor, or `None` to take tensors only.
        dropout: not used by any family's head; taken for uniformity.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        name: name of the model.
        compile: whether to compile with the defaults.

    Example:

    ```python
    import numpy as np
    import kerasbert

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    model = kerasbert.MaskedLM(kerasbert.Encoder(config))
    ids = np.array([[101, 103, 102, 0]], "int32")
    batch = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids > 0}
    assert model(batch).shape == (1, 4, 30522)
    assert model({**batch, "mask_positions": np.array([[1]])}).shape == (1, 1, 30522)
    ```
    """

    task = "masked_lm"

    def __init__(
        self,
        backbone,
        preprocessor=None,
        dropout=None,
        head_options=None,
        name=None,
        compile=True,
    ):
        facts = self._set_up(backbone, preprocessor, dropout, head_options)
        freeze_pooler(backbone)
        self.head = MaskedLMHead(
            backbone.config,
            backbone.token_embedding,
            facts,
            dtype=backbone.dtype_policy,
            name="head",
        )
        inputs = backbone.input
        logits = self.head(backbone(inputs)["sequence_output"])
        super().__init__(inputs=inputs, outputs=logits, name=name, compile=compile)

    def call(self, inputs, training=None, mask=None):
        if MASK_POSITIONS not in inputs:
            return super().call(inputs, training=training, mask=mask)
        states = self.backbone(inputs, training=training)["sequence_output"]
        return self.head(at_positions(states, inputs[MASK_POSITIONS]))

    def _default_loss(self):
        return token_loss()

    def _select(self, inputs):
        selected = super()._select(inputs)
        if MASK_POSITIONS in inputs:
            selected[MASK_POSITIONS] = inputs[MASK_POSITIONS]
        return selected


def at_positions(states, positions):
    """The states (B, T, D) at positions (B, n): (B, n, D)."""
    index = ops.expand_dims(ops.cast(positions, "int32"), -1)
    return ops.take_along_axis(states, index, axis=1)
