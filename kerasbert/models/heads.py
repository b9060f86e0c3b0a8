"""Heads: from the encoder's outputs to a task's logits."""

from __future__ import annotations

import dataclasses

import keras
from keras import ops

from kerasbert.families import Head
from kerasbert.layers.initializing import dense, initializer, norm

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
    """States to logits, (..., D) -> (..., num_classes) in float32.

    Args:
        config: the encoder's `EncoderConfig`.
        num_classes: outputs.
        facts: what stands before the output; a resolved `kerasbert.families.Head`.
    """

    def __init__(self, config, num_classes, facts: Head, **kwargs):
        super().__init__(**kwargs)
        self.num_classes = num_classes
        make = {"dtype": self.dtype_policy}
        self.dense = self.norm = None
        if facts.dense:
            self.dense = dense(
                config,
                config.hidden_dim,
                name="dense",
                activation=facts.dense,
                use_bias=facts.dense_bias,
                **make,
            )
        if facts.norm:
            self.norm = norm(config, name="norm", **make)
        self.input_dropout = keras.layers.Dropout(facts.input_dropout, **make)
        self.dropout = keras.layers.Dropout(facts.dropout, **make)
        self.dense_output = dense(config, num_classes, name="output", use_bias=True, **make)

    def build(self, x_shape):
        for layer in (self.dense, self.norm, self.dense_output):
            if layer is not None:
                layer.build(x_shape)
        self.built = True

    def call(self, x, training=False):
        if self.dense is not None:
            x = self.dense(self.input_dropout(x, training=training))
        if self.norm is not None:
            x = self.norm(x)
        return ops.cast(self.dense_output(self.dropout(x, training=training)), "float32")

    def compute_output_spec(self, x, training=False):
        return keras.KerasTensor((*x.shape[:-1], self.num_classes), dtype="float32")


class MaskedLMHead(keras.layers.Layer):
    """States to logits over the vocabulary, (B, T, D) -> (B, T, vocabulary_size) in float32. The
    token embedding is the output embedding too (Press and Wolf, 2016, arXiv:1608.05859).

    Args:
        config: the encoder's `EncoderConfig`.
        token_embedding: the encoder's.
        facts: a resolved `kerasbert.families.Head`.
    """

    def __init__(self, config, token_embedding, facts: Head, **kwargs):
        super().__init__(**kwargs)
        self.config = config
        self.token_embedding = token_embedding
        self.token_width = config.embedding_dim or config.hidden_dim
        self.width = config.hidden_dim if facts.widens_tokens else self.token_width
        make = {"dtype": self.dtype_policy}
        self.dense = dense(
            config,
            self.width,
            name="dense",
            activation=facts.dense,
            use_bias=facts.dense_bias,
            **make,
        )
        self.norm = norm(config, name="norm", kind="layer", **make)
        self.decoder = None

    def build(self, x_shape):
        self.dense.build(x_shape)
        self.norm.build((*x_shape[:-1], self.width))
        vocabulary_size = self.config.vocabulary_size
        self.bias = self.add_weight(shape=(vocabulary_size,), initializer="zeros", name="bias")
        if self.width > self.token_width:
            self.decoder = self.add_weight(
                shape=(self.width - self.token_width, vocabulary_size),
                initializer=initializer(self.config),
                name="decoder",
            )
        self.built = True

    def call(self, x):
        x = self.norm(self.dense(x))  # (B, T, width)
        table = ops.transpose(self.token_embedding.embeddings)
        logits = ops.matmul(x[..., : self.token_width], table)
        if self.decoder is not None:
            logits = logits + ops.matmul(x[..., self.token_width :], self.decoder)
        return ops.cast(logits + self.bias, "float32")

    def compute_output_spec(self, x):
        return keras.KerasTensor((*x.shape[:-1], self.config.vocabulary_size), dtype="float32")


def quantized_policies(head) -> dict | None:
    """The dtype policies of a head's quantized layers, serialised; `None` if none is quantized."""
    policies = keras.dtype_policies.DTypePolicyMap()
    for layer in head._flatten_layers():
        if layer.quantization_mode is not None:
            policies[layer.path] = layer.dtype_policy
    return keras.dtype_policies.serialize(policies) if len(policies) else None


def pooled_input(facts: Head, backbone, outputs, padding_mask):
    """What the head reads, and the facts of what remains of it: where the encoder has a pooler,
    that is the head's dense layer."""
    if facts.pool == "pooled" and backbone.config.pooler:
        thaw_pooler(backbone)
        return outputs["pooled_output"], without_dense(facts)
    freeze_pooler(backbone)
    if facts.pool is None:
        return outputs["sequence_output"], facts
    pooling = "mean" if facts.pool == "mean" else "cls"
    return pool(outputs["sequence_output"], padding_mask, pooling), facts


def without_dense(facts: Head) -> Head:
    """A head of its output alone."""
    return dataclasses.replace(facts, dense=None, norm=False)


def freeze_pooler(backbone) -> None:
    """A pooler that a task does not read would get no gradient."""
    pooler = backbone.get_layer("pooler") if backbone.config.pooler else None
    if pooler is not None and pooler.trainable:
        pooler.trainable = False
        backbone.pooler_is_read = False


def thaw_pooler(backbone) -> None:
    """Train a pooler again that is frozen for the sake of another task of the same encoder."""
    if backbone.trainable and not backbone.pooler_is_read:
        backbone.get_layer("pooler").trainable = True
        backbone.pooler_is_read = True
