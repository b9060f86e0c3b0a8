"""Extractive question answering: where an answer starts and ends in a context."""

from __future__ import annotations

import keras

from kerasbert.models.linear_head_task import LinearHeadTask
from kerasbert.models.losses import answer_span_loss


@keras.saving.register_keras_serializable(package="kerasbert")
class QuestionAnswerer(LinearHeadTask):
    """An encoder with a head that finds the first and the last token of an answer (Devlin et al.,
    2018, section 4.2).

    A call and `predict` take the encoder's input dict and give logits (batch, length, 2) in
    float32: that a token is the answer's first, and that it is its last.

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
    answerer = kerasbert.QuestionAnswerer(kerasbert.Encoder(config))
    ids = np.array([[101, 2040, 102, 1045, 102]], "int32")
    logits = answerer.predict({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids > 0})
    assert logits.shape == (1, 5, 2)
    ```
    """

    task = "question_answerer"
    num_outputs = 2  # the first token and the last

    def _default_loss(self):
        return answer_span_loss
