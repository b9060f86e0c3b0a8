"""DeBERTa's decoder for masked tokens."""

from __future__ import annotations

import keras
from keras import ops


class EnhancedMaskDecoder(keras.layers.Layer):
    """Absolute positions just before masked tokens are predicted (He et al., 2020, section 3.2).

    As in the released code: the states before the encoder's last layer plus embeddings of absolute
    positions are queries to these states in the last layer, whose weights serve; its output makes
    the queries of a second round.

    Args:
        backbone: an `Encoder` without absolute positions in its embeddings.
        rounds: how often the last layer is applied.
    """

    def __init__(self, backbone, rounds=2, **kwargs):
        super().__init__(name="enhanced_decoder", **kwargs)
        config = backbone.config
        if config.position.absolute is not None or config.norm_placement != "post":
            raise ValueError(
                "The enhanced mask decoder is for encoders of post-norm blocks whose embeddings "
                f"have no absolute positions. Received: position={config.position}, "
                f"norm_placement={config.norm_placement!r}"
            )
        self.rounds = rounds
        self.prompt_slot = backbone.prompt_slot
        self.block = backbone.last_block
        self.position = keras.layers.Embedding(
            config.max_sequence_length,
            config.hidden_dim,
            # Drawn even where the rest of the model is loaded: no file has these weights.
            embeddings_initializer=keras.initializers.TruncatedNormal(config.initializer_range),
            dtype=self.dtype_policy,
            name="position",
        )

    def build(self, states_shape, *_, **__):
        self.position.build(states_shape)
        self.built = True

    def call(self, states, context, training=False):
        if self.prompt_slot.length:
            raise ValueError(
                "The enhanced mask decoder has no place for soft prompts among its queries. Use "
                "`tuning.prefixes` instead of `tuning.prompts`."
            )
        places = ops.arange(ops.shape(states)[1], dtype="int32")
        query = states + self.position(places)  # (B, T, D)
        for _ in range(self.rounds):
            query = self.block(states, context, query_input=query, training=training)
        return query

    def compute_output_shape(self, states_shape, *_, **__):
        return states_shape
