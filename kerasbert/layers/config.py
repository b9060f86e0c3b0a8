"""The configuration of an encoder: every architecture of the family as data."""

from __future__ import annotations

import dataclasses
from typing import Any

from kerasbert.layers.activations import ACTIVATIONS
from kerasbert.layers.blocks import Blocks
from kerasbert.layers.bottleneck import Bottleneck
from kerasbert.layers.convolution import Convolution
from kerasbert.layers.disentangled import Disentangled
from kerasbert.layers.patterns import Full, Pattern
from kerasbert.layers.positions import Absolute, Position
from kerasbert.layers.relative_bias import RelativeBias
from kerasbert.layers.rotary import Rotary
from kerasbert.layers.stack import Sharing
from kerasbert.layers.windows import Window

# What only some architectures have is a dataclass of its own, stored under its class name.
_TAGGED = {
    cls.__name__: cls
    for cls in (
        Absolute,
        Blocks,
        Bottleneck,
        Convolution,
        Disentangled,
        Full,
        RelativeBias,
        Rotary,
        Sharing,
        Window,
    )
}
_TAGGED_FIELDS = {
    "position": (Position, False),
    "attention": (Pattern, False),
    "sharing": (Sharing, True),
    "bottleneck": (Bottleneck, True),
    "convolution": (Convolution, True),
}

_MAY_BE_ZERO = ("num_segments", "num_task_types", "pad_token_id")
_RATES = ("hidden_dropout", "attention_dropout")
_CHOICES = {
    "activation": tuple(sorted(ACTIVATIONS)),
    "pooler": (None, *sorted(ACTIVATIONS)),
    "norm_placement": ("post", "pre"),
    "norm": ("layer", "affine"),
}


@dataclasses.dataclass(frozen=True)
class EncoderConfig:
    """An encoder's architecture; the defaults are BERT base, uncased (Devlin et al., 2018).

    Args:
        vocabulary_size: rows of the token embedding table.
        num_layers: steps of the stack (Transformer blocks applied, unless `sharing` says more).
        num_heads: attention heads; must divide `hidden_dim`.
        hidden_dim: width of the hidden states.
        intermediate_dim: width of the feed-forward layer.
        embedding_dim: width of the embeddings, projected to `hidden_dim` (ALBERT); `None` for
            embeddings of width `hidden_dim` without a projection.
        trigram: project the token embeddings of three neighbouring tokens to `hidden_dim`, before
            positions and segments of that width are added (MobileBERT); needs `embedding_dim`.
        max_sequence_length: the longest input, in tokens.
        num_segments: rows of the segment embedding table; 0 for a model without segments.
        num_task_types: rows of the task type embedding table (ERNIE); 0 for none.
        pad_token_id: the id that fills up short texts.
        activation: of the feed-forward layer: `"gelu"` (exact, with erf), `"gelu_tanh"` (the
            approximation), `"relu"`, `"silu"`, `"tanh"`, `"sigmoid"`, `"linear"`.
        gated_feed_forward: multiply the activated projection with a second, linear one (GLU
            variants, Shazeer 2020, arXiv:2002.05202).
        norm_placement: `"post"` (after each residual sum, as BERT) or `"pre"` (before each
            sub-layer, and once after the last block).
        first_attention_norm: whether the first block normalises before its attention, where
            `norm_placement` is `"pre"` (ModernBERT does not: its embeddings are normalised).
        norm: `"layer"` normalisation, or `"affine"`, which scales and shifts only (MobileBERT).
        norm_epsilon: added to the variance in layer normalisation.
        norm_bias: whether layer normalisation shifts.
        use_bias: whether projections and feed-forward layers have biases.
        pooler: activation of the dense layer over the first token that gives `pooled_output`, or
            `None` for a model without a pooler.
        hidden_dropout: dropout rate after embeddings, attention and feed-forward layers.
        attention_dropout: dropout rate of the attention weights.
        initializer_range: standard deviation of the truncated normal that initialises weights.
        causal: whether a token sees only itself and those before it.
        position: how positions enter: `Absolute(offset, counting)`, `RelativeBias(buckets)`,
            `Rotary(theta, local_theta)` or `Disentangled(...)`.
        attention: which keys a query sees: `Full()`, `Window(width, ...)` or `Blocks(...)`.
        sharing: `None`, or `Sharing(groups, layers_per_group)` for shared layers (ALBERT).
        bottleneck: `None`, or `Bottleneck(dim, feed_forwards)` for narrow blocks (MobileBERT).
        convolution: `None`, or `Convolution(kernel_size)` beside the first block (DeBERTa v2).

    Raises:
        ValueError: if a field, or a combination of fields, makes no sense; it names the field and
            the value.

    Example:

    ```python
    from kerasbert import EncoderConfig

    small = EncoderConfig(num_layers=4, num_heads=8, hidden_dim=512, intermediate_dim=2048)
    assert EncoderConfig.from_dict(small.to_dict()) == small
    ```
    """

    vocabulary_size: int = 30522
    num_layers: int = 12
    num_heads: int = 12
    hidden_dim: int = 768
    intermediate_dim: int = 3072
    embedding_dim: int | None = None
    trigram: bool = False
    max_sequence_length: int = 512
    num_segments: int = 2
    num_task_types: int = 0
    pad_token_id: int = 0
    activation: str = "gelu"
    gated_feed_forward: bool = False
    norm_placement: str = "post"
    first_attention_norm: bool = True
    norm: str = "layer"
    norm_epsilon: float = 1e-12
    norm_bias: bool = True
    use_bias: bool = True
    pooler: str | None = "tanh"
    hidden_dropout: float = 0.1
    attention_dropout: float = 0.1
    initializer_range: float = 0.02
    causal: bool = False
    position: Position = Absolute()
    attention: Pattern = Full()
    sharing: Sharing | None = None
    bottleneck: Bottleneck | None = None
    convolution: Convolution | None = None

    def __post_init__(self):
        for field in dataclasses.fields(self):
            name, value = field.name, getattr(self, field.name)
            if field.type == "bool":
                self._require(name, isinstance(value, bool), "must be True or False")
            elif field.type == "int" or (name == "embedding_dim" and value is not None):
                self._require_int(name, at_least=0 if name in _MAY_BE_ZERO else 1)
        for name in _RATES:
            value = getattr(self, name)
            self._require(name, _is_number(value) and 0 <= value < 1, "must be in [0, 1)")
        for name in ("norm_epsilon", "initializer_range"):
            value = getattr(self, name)
            self._require(name, _is_number(value) and value > 0, "must be a positive number")
        for name, choices in _CHOICES.items():
            holds = getattr(self, name) in choices
            self._require(name, holds, f"must be one of {list(choices)}")
        for name, (kind, is_optional) in _TAGGED_FIELDS.items():
            value = getattr(self, name)
            holds = isinstance(value, kind) or (is_optional and value is None)
            self._require(name, holds, f"must be a `{kind.__name__}`")
        self._check_across_fields()

    def _check_across_fields(self):
        if self.block_dim % self.num_heads:
            width = "bottleneck.dim" if self.bottleneck else "hidden_dim"
            raise ValueError(
                f"`{width}` must be divisible by `num_heads`. "
                f"Received: {width}={self.block_dim}, num_heads={self.num_heads}"
            )
        if self.pad_token_id >= self.vocabulary_size:
            raise ValueError(
                "`pad_token_id` must be smaller than `vocabulary_size`. Received: "
                f"pad_token_id={self.pad_token_id}, vocabulary_size={self.vocabulary_size}"
            )
        if self.sharing is not None and self.sharing.groups > self.num_layers:
            raise ValueError(
                "`sharing.groups` must not exceed `num_layers`. Received: "
                f"sharing={self.sharing}, num_layers={self.num_layers}"
            )
        self._require(
            "trigram", not self.trigram or self.embedding_dim is not None, "needs `embedding_dim`"
        )
        is_post = self.norm_placement == "post"
        self._require("bottleneck", self.bottleneck is None or is_post, "needs post-norm blocks")
        self._require(
            "first_attention_norm",
            self.first_attention_norm or not is_post,
            "must be True in post-norm blocks",
        )
        self._require(
            "causal", not self.causal or isinstance(self.attention, Full), "needs full attention"
        )
        self.position.check(self)
        self.attention.check(self)

    @property
    def block_dim(self) -> int:
        """Width inside a block: `hidden_dim`, unless a bottleneck narrows it."""
        return self.bottleneck.dim if self.bottleneck else self.hidden_dim

    def _require_int(self, name: str, at_least: int):
        value = getattr(self, name)
        is_int = isinstance(value, int) and not isinstance(value, bool)
        self._require(name, is_int and value >= at_least, f"must be an integer >= {at_least}")

    def _require(self, name: str, holds: bool, rule: str):
        if not holds:
            raise ValueError(f"`{name}` {rule}. Received: {name}={getattr(self, name)!r}")

    def replace(self, **changes) -> EncoderConfig:
        """A configuration that differs from this one in the given fields."""
        _reject_unknown_fields(changes)
        return dataclasses.replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data (JSON-serialisable) from which `from_dict` rebuilds the configuration."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: _untag(value) for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> EncoderConfig:
        """The configuration that `to_dict` described.

        Raises:
            ValueError: for an unknown field or an unknown kind of a tagged field.
        """
        _reject_unknown_fields(data)
        return cls(**{name: _tag(name, value) for name, value in data.items()})


def _is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _reject_unknown_fields(fields):
    known = [field.name for field in dataclasses.fields(EncoderConfig)]
    unknown = sorted(set(fields) - set(known))
    if unknown:
        raise ValueError(
            f"`EncoderConfig` has no such field. Its fields are {known}. Received: {unknown}"
        )


def _untag(value):
    if dataclasses.is_dataclass(value):
        parts = {f.name: _untag(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"kind": type(value).__name__, **parts}
    return list(value) if isinstance(value, tuple) else value


def _tag(name, value):
    if isinstance(value, list):
        return tuple(value)
    if not isinstance(value, dict):
        return value
    value = dict(value)
    kind = value.pop("kind", None)
    if kind not in _TAGGED:
        raise ValueError(
            f"Unknown kind of `{name}`. It must be one of {sorted(_TAGGED)}. "
            f"Received: {name}.kind={kind!r}"
        )
    unknown = sorted(set(value) - {field.name for field in dataclasses.fields(_TAGGED[kind])})
    if unknown:
        raise ValueError(f"`{kind}` has no such field. Received: {name} with {unknown}")
    return _TAGGED[kind](**{part: _tag(f"{name}.{part}", inner) for part, inner in value.items()})
