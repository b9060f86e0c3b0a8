"""Prefix tuning: trained keys and values in every layer (Li & Liang, 2021, arXiv:2101.00190; Liu et
al., 2021, "P-Tuning v2", arXiv:2110.07602)."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

import keras
from keras import ops

from kerasbert.layers import block_order
from kerasbert.tuning.addition import Addition, add, blocks_of, opened
from kerasbert.tuning.sampling import check_length, check_sees_all, trace_random_tokens


class KeyPrefix(keras.layers.Layer):
    """Keys and values (B, T, N, H) of a layer with the trained ones before them (B, L + T, N, H),
    and the mask (B, 1, 1 or T, T) that lets them be seen, (B, 1, 1 or T, L + T).

    Args:
        length: how many keys and values L.
    """

    def __init__(self, length, **kwargs):
        super().__init__(**kwargs)
        self.length = length

    def build(self, key_shape, value_shape=None, mask_shape=None):
        heads = key_shape[-2:]
        self.keys, self.values = (
            self.add_weight(
                shape=(self.length, *heads), initializer="zeros", trainable=True, name=name
            )
            for name in ("keys", "values")
        )
        self.built = True

    def call(self, key, value, mask):
        batch, queries = ops.shape(key)[0], ops.shape(mask)[2]
        key, value = (
            ops.concatenate((ops.broadcast_to(x, (batch, *x.shape)), y), axis=1)
            for x, y in ((self.keys, key), (self.values, value))
        )
        seen = ops.ones((batch, 1, queries, self.length), "bool")
        return key, value, ops.concatenate((seen, mask), axis=-1)


@dataclasses.dataclass(frozen=True)
class Prefixes(Addition):
    """The settings of `prefixes`."""

    length: int = 20

    method: ClassVar[str] = "prefixes"

    def __post_init__(self):
        check_length(self.length)

    def check(self, encoder):
        check_sees_all(self.method, encoder)

    def put_into(self, encoder):
        config = encoder.config
        heads = (config.num_heads, config.block_dim // config.num_heads)
        for block in blocks_of(encoder):
            attention = block.attention
            prefix = KeyPrefix(self.length, dtype=attention.dtype_policy, name="prefix")
            with opened(attention):
                prefix.build((None, None, *heads))
                attention.prefix = prefix

    def start(self, encoder):
        """From the keys and values of random tokens: section 7.4 of Li & Liang finds activations of
        real words to train better than random numbers."""
        record = trace_random_tokens(encoder, self.length, "keys", "values")
        order = block_order(encoder.config)
        for index, block in enumerate(blocks_of(encoder)):
            step = order.index(index)
            for name in ("keys", "values"):
                getattr(block.attention.prefix, name).assign(record[name][step])

    def trains(self, path):
        return "/prefix/" in path


def prefixes(model, length: int = 20):
    """Train keys and values that stand before those of the tokens in every layer's attention.

    All else in the encoder is frozen; a task's head trains. They start from the keys and values of
    random tokens, and have no positions. Where blocks are shared (ALBERT), so are their prefixes.

    Args:
        model: an `Encoder` with full attention, or a task; changed in place, and compiled anew if
            it is compiled.
        length: how many keys and values each layer gets. Default 20.

    Returns:
        The model.

    Raises:
        ValueError: for a length that makes no sense, sparse attention, or if the encoder has
            prefixes.
        TypeError: if `model` is something else.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    tuning.prefixes(classifier, length=4)
    assert len(classifier.backbone.trainable_variables) == 2 * 2
    ```
    """
    return add(model, Prefixes(length))
