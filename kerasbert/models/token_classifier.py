"""Classification of tokens: tags of words, names in text."""

from __future__ import annotations

import keras

from kerasbert.models.labels import Labels, their_labels
from kerasbert.models.linear_head_task import LinearHeadTask
from kerasbert.models.losses import TokenCrossEntropy


@keras.saving.register_keras_serializable(package="kerasbert")
class TokenClassifier(LinearHeadTask):
    """An encoder with a head that classifies each token.

    A call and `predict` take the encoder's input dict and give logits (batch, length, len(labels))
    in float32.

    Args:
        backbone: a `kerasbert.Encoder`.
        labels: names of the classes, in the order of the logits. They must be given where none are
            saved.
        preprocessor: a preprocessor, or `None` to take tensors only.
        dropout: rate before the output layer; `None` for the family's.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        head_dtype: dtype policy of the head; `None` for the encoder's.
        name: name of the model.
        compile: whether to compile with the defaults.

    Raises:
        ValueError: for labels that are none or stand twice.

    Example:

    ```python
    import numpy as np
    import kerasbert

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    tagger = kerasbert.TokenClassifier(kerasbert.Encoder(config), labels=["O", "B-LOC", "I-LOC"])
    ids = np.array([[101, 7592, 102, 0]], "int32")
    logits = tagger.predict({"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids > 0})
    assert logits.shape == (1, 4, 3)
    ```
    """

    task = "token_classifier"

    def __init__(
        self,
        backbone,
        labels=None,
        preprocessor=None,
        dropout=None,
        head_options=None,
        head_dtype=None,
        name=None,
        compile=True,
    ):
        self.classes = Labels.of(None, labels, False)
        super().__init__(backbone, preprocessor, dropout, head_options, head_dtype, name, compile)

    @property
    def num_outputs(self) -> int:
        """Number of classes."""
        return self.classes.num_classes

    @property
    def labels(self) -> list[str]:
        """Names of the classes, in the order of the logits."""
        return list(self.classes.names)

    def _default_loss(self):
        return TokenCrossEntropy()

    def _their_values(self):
        return their_labels(self.labels)

    @classmethod
    def arguments_of(cls, saved):
        return {"labels": saved.labels}

    @classmethod
    def keeps_head(cls, saved, given):
        return list(given.get("labels", saved["labels"])) == saved["labels"]

    def get_config(self):
        return {**super().get_config(), "labels": self.labels}
