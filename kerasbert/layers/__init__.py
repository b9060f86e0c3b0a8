"""The encoder's definition: configuration, embeddings, attention, blocks, traces."""

from kerasbert.layers.activations import ACTIVATIONS, activation
from kerasbert.layers.attention import AttentionMask, SelfAttention
from kerasbert.layers.block import EncoderBlock
from kerasbert.layers.config import EncoderConfig
from kerasbert.layers.embeddings import Absolute, Embeddings
from kerasbert.layers.feed_forward import FeedForward
from kerasbert.layers.stack import Sharing, block_order, num_blocks
from kerasbert.layers.tracing import TRACES, Record, trace

__all__ = [
    "ACTIVATIONS",
    "TRACES",
    "Absolute",
    "AttentionMask",
    "Embeddings",
    "EncoderBlock",
    "EncoderConfig",
    "FeedForward",
    "Record",
    "SelfAttention",
    "Sharing",
    "activation",
    "block_order",
    "num_blocks",
    "trace",
]
