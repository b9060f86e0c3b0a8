"""The encoder's definition: configuration, embeddings, attention, blocks, traces."""

from kerasbert.layers.activations import ACTIVATIONS, activation
from kerasbert.layers.attention import AttentionMask, SelfAttention
from kerasbert.layers.block import EncoderBlock
from kerasbert.layers.blocks import Blocks
from kerasbert.layers.bottleneck import Bottleneck
from kerasbert.layers.config import EncoderConfig
from kerasbert.layers.convolution import Convolution
from kerasbert.layers.dense import Dense
from kerasbert.layers.disentangled import Disentangled
from kerasbert.layers.embeddings import Embeddings
from kerasbert.layers.feed_forward import FeedForward
from kerasbert.layers.patterns import Full
from kerasbert.layers.positions import Absolute
from kerasbert.layers.prompt_slot import PromptSlot
from kerasbert.layers.relative_bias import RelativeBias
from kerasbert.layers.rotary import Rotary
from kerasbert.layers.stack import Sharing, block_order, num_blocks
from kerasbert.layers.tracing import TRACES, Record, trace
from kerasbert.layers.windows import Window

__all__ = [
    "ACTIVATIONS",
    "TRACES",
    "Absolute",
    "AttentionMask",
    "Blocks",
    "Bottleneck",
    "Convolution",
    "Dense",
    "Disentangled",
    "Embeddings",
    "EncoderBlock",
    "EncoderConfig",
    "FeedForward",
    "Full",
    "PromptSlot",
    "Record",
    "RelativeBias",
    "Rotary",
    "SelfAttention",
    "Sharing",
    "Window",
    "activation",
    "block_order",
    "num_blocks",
    "trace",
]
