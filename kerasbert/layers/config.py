"""The configuration of an encoder: every architecture of the family as data."""

from __future__ import annotations

import dataclasses
from typing import Any

from kerasbert.layers.activations import ACTIVATIONS
from kerasbert.layers.embeddings import Absolute
from kerasbert.layers.stack import Sharing

# What only some architectures have is a dataclass of its own, stored under its class name.
_TAGGED = {cls.__name__: cls for cls in (Absolute, Sharing)}

_POSITIVE = (
    "vocabulary_size",
    "num_layers",
    "num_heads",
    "hidden_dim",
    "intermediate_dim",
    "max_sequence_length",
)
_RATES = ("hidden_dropout", "attention_dropout")
_SWITCHES = ("gated_feed_forward", "use_bias", "causal")


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
        max_sequence_length: the longest input, in tokens.
        num_segments: rows of the segment embedding table; 0 for a model without segments.
        pad_token_id: the id that fills up short texts.
        activation: of the feed-forward layer: `"gelu"` (exact, with erf), `"gelu_tanh"` (the
            approximation), `"relu"`, `"silu"`, `"tanh"`, `"sigmoid"`, `"linear"`.
        gated_feed_forward: multiply the activated projection with a second, linear one (GLU
            variants, Shazeer 2020, arXiv:2002.05202).
        norm_placement: `"post"` (after each residual sum, as BERT) or `"pre"` (before each
            sub-layer, and once after the last block).
        norm_epsilon: added to the variance in layer normalisation.
        use_bias: whether projections and feed-forward layers have biases.
        pooler: activation of the dense layer over the first token that gives `pooled_output`, or
            `None` for a model without a pooler.
        hidden_dropout: dropout rate after embeddings, attention and feed-forward layers.
        attention_dropout: dropout rate of the attention weights.
        initializer_range: standard deviation of the truncated normal that initialises weights.
        causal: whether a token sees only itself and those before it.
        position: how positions enter: `Absolute(offset, counting)`.
        sharing: `None`, or `Sharing(groups, layers_per_group)` for shared layers (ALBERT).

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
    max_sequence_length: int = 512
    num_segments: int = 2
    pad_token_id: int = 0
    activation: str = "gelu"
    gated_feed_forward: bool = False
    norm_placement: str = "post"
    norm_epsilon: float = 1e-12
    use_bias: bool = True
    pooler: str | None = "tanh"
    hidden_dropout: float = 0.1
    attention_dropout: float = 0.1
    initializer_range: float = 0.02
    causal: bool = False
    position: Absolute = Absolute()
    sharing: Sharing | None = None

    def __post_init__(self):
        for name in _POSITIVE:
            self._require_int(name, at_least=1)
        for name in ("num_segments", "pad_token_id"):
            self._require_int(name, at_least=0)
        if self.embedding_dim is not None:
            self._require_int("embedding_dim", at_least=1)
        for name in _RATES:
            value = getattr(self, name)
            self._require(name, _is_number(value) and 0 <= value < 1, "must be in [0, 1)")
        for name in _SWITCHES:
            self._require(name, isinstance(getattr(self, name), bool), "must be True or False")
        for name in ("norm_epsilon", "initializer_range"):
            value = getattr(self, name)
            self._require(name, _is_number(value) and value > 0, "must be a positive number")
        self._require(
            "activation", self.activation in ACTIVATIONS, f"must be one of {sorted(ACTIVATIONS)}"
        )
        self._require(
            "pooler",
            self.pooler is None or self.pooler in ACTIVATIONS,
            f"must be None or one of {sorted(ACTIVATIONS)}",
        )
        self._require(
            "norm_placement", self.norm_placement in ("post", "pre"), "must be 'post' or 'pre'"
        )
        self._require("position", isinstance(self.position, Absolute), "must be an `Absolute`")
        self._require(
            "sharing",
            self.sharing is None or isinstance(self.sharing, Sharing),
            "must be None or a `Sharing`",
        )
        self._check_across_fields()

    def _check_across_fields(self):
        if self.hidden_dim % self.num_heads:
            raise ValueError(
                "`hidden_dim` must be divisible by `num_heads`. "
                f"Received: hidden_dim={self.hidden_dim}, num_heads={self.num_heads}"
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
        return {"kind": type(value).__name__, **dataclasses.asdict(value)}
    return value


def _tag(name, value):
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
    return _TAGGED[kind](**value)
