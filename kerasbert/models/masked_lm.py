"""Masked language modelling: which token stands at a place."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.models.enhanced_decoder import EnhancedMaskDecoder
from kerasbert.models.heads import MaskedLMHead, freeze_pooler
from kerasbert.models.losses import TokenCrossEntropy
from kerasbert.models.named_inputs import MASK_POSITIONS
from kerasbert.models.task import EncoderTask


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
        dropout: taken as all tasks do; no family's head has a dropout here.
        head_options: what a checkpoint's configuration changes of the family's head; set by
            `from_preset`.
        enhanced_decoder: whether DeBERTa's `EnhancedMaskDecoder` replaces the encoder's last layer.
            transformers has no model with it, and released files have no weights for its positions.
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
    only_ours = ("enhanced_decoder/",)

    def __init__(
        self,
        backbone,
        preprocessor=None,
        dropout=None,
        head_options=None,
        enhanced_decoder=False,
        name=None,
        compile=True,
    ):
        facts = self._set_up(backbone, preprocessor, dropout, head_options)
        freeze_pooler(backbone)
        self.input_names = (*backbone.input_names, MASK_POSITIONS)
        self.enhanced_decoder = enhanced_decoder
        make = {"dtype": backbone.dtype_policy}
        self.decoder = EnhancedMaskDecoder(backbone, **make) if enhanced_decoder else None
        self.head = MaskedLMHead(
            backbone.config, backbone.token_embedding, facts, name="head", **make
        )
        positions = keras.Input((None,), dtype="int32", name=MASK_POSITIONS, optional=True)
        if enhanced_decoder:
            states = self.decoder(*backbone.last_block_inputs)
        else:
            states = backbone(backbone.input)["sequence_output"]
        logits = self.head(StatesAt()(states, positions))
        inputs = {**backbone.input, MASK_POSITIONS: positions}
        super().__init__(inputs=inputs, outputs=logits, name=name, compile=compile)

    def export_to_transformers(self, folder, family=None):
        if self.enhanced_decoder:
            raise ValueError(
                "transformers has no masked language model with this decoder. Export one with "
                "`enhanced_decoder=False`, or save a preset. Received: enhanced_decoder=True"
            )
        super().export_to_transformers(folder, family)

    export_to_transformers.__doc__ = EncoderTask.export_to_transformers.__doc__

    def _default_loss(self):
        return TokenCrossEntropy()

    def _default_input(self, name, padding_mask):
        return None if name == MASK_POSITIONS else super()._default_input(name, padding_mask)

    @classmethod
    def keeps_head(cls, saved, given):
        before = saved.get("enhanced_decoder")  # another library's files do not say
        return before in (None, given.get("enhanced_decoder", before))

    def get_config(self):
        return {**super().get_config(), "enhanced_decoder": self.enhanced_decoder}


class StatesAt(keras.layers.Layer):
    """States (B, T, D) at positions (B, n): (B, n, D); all of them where no positions are given."""

    def call(self, states, positions=None):
        if positions is None:
            return states
        index = ops.expand_dims(ops.cast(positions, "int32"), -1)
        return ops.take_along_axis(states, index, axis=1)

    def compute_output_spec(self, states, positions=None):
        return keras.KerasTensor((states.shape[0], None, states.shape[2]), dtype=states.dtype)
