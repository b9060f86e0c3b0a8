"""Heads: from the encoder's outputs to a task's logits."""

from __future__ import annotations

import keras
from keras import ops

from kerasbert.layers.initializing import dense

POOLINGS = ("cls", "mean", "max")


def pool(sequence, padding_mask, pooling: str):
    """One vector for each text: (B, T, D), (B, T) -> (B, D).

    Args:
        sequence: the encoder's `sequence_output`.
        padding_mask: 1 = real token.
        pooling: `"cls"`, the first token's state; `"mean"` or `"max"` over the real tokens.
    """
    if pooling == "cls":
        return sequence[:, 0, :]
    mask = ops.expand_dims(ops.cast(padding_mask, "float32"), -1)  # (B, T, 1)
    if pooling == "mean":
        # In float32: a sum over many tokens overflows float16, and bfloat16 cannot count to 512.
        mean = ops.sum(ops.cast(sequence, "float32") * mask, axis=1)
        mean = mean / ops.maximum(ops.sum(mask, axis=1), 1)
        return ops.cast(mean, sequence.dtype)
    # -1e4 is finite in float16 and below every state that layer normalisation leaves.
    return ops.max(ops.where(ops.cast(mask, "bool"), sequence, ops.cast(-1e4, sequence.dtype)), 1)


class ClassificationHead(keras.layers.Layer):
    """Pooled states to logits, (B, D) -> (B, num_classes) in float32.

    Args:
        config: the encoder's `EncoderConfig`.
        num_classes: outputs.
        activation: of a dense layer of width hidden_dim before the output; `None` for no such
            layer.
        dropout: rate of the dropout before the output.
    """

    def __init__(self, config, num_classes, activation=None, dropout=0.1, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.num_classes = num_classes
        make = {"dtype": self.dtype_policy}
        self.dense = (
            dense(
                config,
                config.hidden_dim,
                name="dense",
                activation=activation,
                use_bias=True,
                **make,
            )
            if activation
            else None
        )
        self.dropout = keras.layers.Dropout(dropout, **make)
        self.dense_output = dense(config, num_classes, name="output", use_bias=True, **make)

    def build(self, x_shape):
        if self.dense is not None:
            self.dense.build(x_shape)
        self.dense_output.build(x_shape)
        self.built = True

    def call(self, x, training=False):
        if self.dense is not None:
            x = self.dense(x)
        return ops.cast(self.dense_output(self.dropout(x, training=training)), "float32")

    def compute_output_spec(self, x, training=False):
        return keras.KerasTensor((x.shape[0], self.num_classes), dtype="float32")


def quantized_policies(head) -> dict | None:
    """The dtype policies of a head's quantized layers, serialised; `None` if none is quantized."""
    policies = keras.dtype_policies.DTypePolicyMap()
    for layer in head._flatten_layers():
        if layer.quantization_mode is not None:
            policies[layer.path] = layer.dtype_policy
    return keras.dtype_policies.serialize(policies) if len(policies) else None
