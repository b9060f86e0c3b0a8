"""Replaced token detection: which tokens a generator put in."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.models.linear_head_task import LinearHeadTask


@keras.saving.register_keras_serializable(package="kerasbert")
class ReplacedTokenDetector(LinearHeadTask):
    """An encoder with ELECTRA's discriminator head (Clark et al., 2020, section 2).

    A call and `predict` take the encoder's input dict and give logits (batch, length) in float32:
    positive where a token looks replaced.

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
    detector = kerasbert.ReplacedTokenDetector(kerasbert.Encoder(config, family="electra"))
    ids = np.array([[101, 2040, 102]], "int32")
    logits = detector.predict({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids > 0})
    assert logits.shape == (1, 3)
    ```
    """

    task = "replaced_tokens"
    num_outputs = 1

    def _logits(self, outputs, inputs):
        return ops.squeeze(outputs, axis=-1)

    def _default_loss(self):
        return keras.losses.BinaryCrossentropy(from_logits=True)
