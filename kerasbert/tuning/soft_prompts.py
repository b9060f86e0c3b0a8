"""Prompt tuning: trained vectors before the embeddings (Lester et al., 2021, arXiv:2104.08691)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import keras
from keras import ops

from kerasbert.tuning.addition import Addition, add, opened
from kerasbert.tuning.sampling import check_length, check_sees_all, trace_random_tokens


class SoftPrompts(keras.layers.Layer):
    """States (B, T, D) and a padding mask (B, T) to (B, L + T, D) and (B, L + T).

    Args:
        length: how many vectors L.
    """

    def __init__(self, length, **kwargs):
        super().__init__(**kwargs)
        self.length = length

    def build(self, x_shape, padding_mask_shape=None):
        self.vectors = self.add_weight(
            shape=(self.length, x_shape[-1]), initializer="zeros", name="vectors"
        )
        self.built = True

    def call(self, x, padding_mask):
        batch = ops.shape(x)[0]
        vectors = ops.broadcast_to(self.vectors, (batch, *self.vectors.shape))
        real = ops.ones((batch, self.length), padding_mask.dtype)
        return (
            ops.concatenate((vectors, x), axis=1),
            ops.concatenate((real, padding_mask), axis=1),
        )


@dataclasses.dataclass(frozen=True)
class Prompts(Addition):
    """The settings of `prompts`."""

    length: int = 20

    method: ClassVar[str] = "prompts"

    def __post_init__(self):
        check_length(self.length)

    def check(self, encoder):
        check_sees_all(self.method, encoder)

    def put_into(self, encoder):
        prompts = SoftPrompts(self.length, dtype=encoder.dtype_policy, name="prompts")
        prompts.build((None, None, encoder.config.hidden_dim))
        with opened(encoder):
            encoder.soft_prompts = encoder.prompt_slot.prompts = prompts
        for layer in encoder.layers:
            if hasattr(layer, "make_room"):
                layer.make_room(self.length)

    def start(self, encoder):
        """From embeddings of random tokens, one of the ways of section 3.2."""
        record = trace_random_tokens(encoder, self.length, "hidden_states")
        encoder.soft_prompts.vectors.assign(record["hidden_states"][0])

    def trains(self, path):
        return path.startswith("prompts/")


def prompts(model, length: int = 20):
    """Train vectors that stand before the embedded tokens.

    All else in the encoder is frozen; a task's head trains. The vectors start from the embeddings
    of random tokens. They pass through all layers as tokens do, and are left out of
    `sequence_output`: its positions, and [CLS], stay what they were. In what
    `kerasbert.trace` records they stand before the tokens.

    Args:
        model: an `Encoder` with full attention, or a task; changed in place, and compiled anew if
            it is compiled.
        length: how many vectors. Default 20. The longest input stays as long as it was.

    Returns:
        The model.

    Raises:
        ValueError: for a length that makes no sense, sparse attention, or if the encoder has
            prompts.
        TypeError: if `model` is something else.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    tuning.prompts(classifier, length=4)
    (vectors,) = classifier.backbone.trainable_variables
    assert vectors.shape == (4, 32)
    ```
    """
    return add(model, Prompts(length))
