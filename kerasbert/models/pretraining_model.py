"""The pretraining heads of BERT and ALBERT: masked tokens and pairs of sentences."""

from __future__ import annotations

import keras

from kerasbert.families.heads import Head
from kerasbert.models.heads import ClassificationHead, MaskedLMHead, pooled_input
from kerasbert.models.losses import TokenCrossEntropy
from kerasbert.models.task import EncoderTask


@keras.saving.register_keras_serializable(package="kerasbert")
class PretrainingModel(EncoderTask):
    """An encoder with the two heads of BERT's and ALBERT's pretraining: masked tokens, and pairs of
    sentences (the next one: Devlin et al., 2018, section 3.1; their order: Lan et al., 2019,
    section 3.1).

    A call takes the encoder's input dict and gives a dict of logits in float32: `masked_tokens`
    (batch, length, vocabulary_size) and `sentence_pairs` (batch, 2), whose class 0 is a pair that
    follows in the text.

    Args:
        backbone: a `kerasbert.Encoder`.
        preprocessor: a preprocessor, or `None` to take tensors only.
        dropout: rate before the output for pairs; `None` for the family's.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        name: name of the model.
        compile: whether to compile with the defaults.

    Example:

    ```python
    import numpy as np
    import kerasbert

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    model = kerasbert.PretrainingModel(kerasbert.Encoder(config))
    ids = np.array([[101, 103, 102, 1045, 102]], "int32")
    logits = model({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids > 0})
    assert logits["sentence_pairs"].shape == (1, 2)
    ```
    """

    task = "pretraining"

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
        config, make = backbone.config, {"dtype": backbone.dtype_policy}
        inputs = backbone.input
        outputs = backbone(inputs)
        self.head = MaskedLMHead(config, backbone.token_embedding, facts, name="head", **make)
        pair_facts = Head("", (), pool="pooled", dropout=facts.dropout)
        pooled, pair_facts = pooled_input(pair_facts, backbone, outputs, inputs["padding_mask"])
        self.pair_head = ClassificationHead(config, 2, pair_facts, name="pair_head", **make)
        logits = {
            "masked_tokens": self.head(outputs["sequence_output"]),
            "sentence_pairs": self.pair_head(pooled),
        }
        super().__init__(inputs=inputs, outputs=logits, name=name, compile=compile)

    def _default_loss(self):
        return {
            "masked_tokens": TokenCrossEntropy(),
            "sentence_pairs": keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        }
