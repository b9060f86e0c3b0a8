"""What stands between a family's encoder and a task's logits, as facts.

The tasks are the keys of `DEFAULT_HEADS`; `"pretraining"` is masked tokens and sentence pairs.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from kerasbert.families.config_map import read_activation, write_activation
from kerasbert.families.names import Row


@dataclasses.dataclass(frozen=True)
class Option:
    """A field of `config.json` that changes a head.

    Args:
        theirs: the field's name in the file.
        ours: the field of `Head` that it sets.
        values: their values to ours; `None` where they are the same.
    """

    theirs: str
    ours: str
    values: Mapping[Any, Any] | None = None

    def read(self, value):
        """Our value."""
        if self.ours == "dense" and self.values is None:
            return read_activation(self.theirs, value)
        if self.values is None:
            return value
        if value not in self.values:
            raise ValueError(
                f"`{self.theirs}` must be one of {sorted(self.values)}. "
                f"Received: {self.theirs}={value!r}"
            )
        return self.values[value]

    def write(self, value):
        """Their value."""
        if self.ours == "dense" and self.values is None:
            return write_activation(value)
        if self.values is None:
            return value
        return next(theirs for theirs, ours in self.values.items() if ours == value)


@dataclasses.dataclass(frozen=True)
class Head:
    """The layers of a head, in the order in which they are applied; what is not there is `None`.

    Args:
        architecture: Hugging Face's class of the whole model.
        weights: the head's variables and their names in the family's files.
        pool: `"pooled"` takes `pooled_output`, `"first"` the first token's state, `"mean"` the mean
            of the real tokens' states; `None` leaves one state for each token.
        input_dropout: rate of a dropout before the dense layer; `"hidden"` for the encoder's
            `hidden_dropout`, `"output"` for that of `dropout`.
        dense: activation of a dense layer (`"encoder"` for the encoder's); where the encoder has a
            pooler and `pool` is `"pooled"`, its dense layer is this one.
        dense_bias: whether that layer has a bias.
        norm: whether a norm follows it.
        dropout: rate of the dropout before the output; `"hidden"` for the encoder's.
        has_pooler: whether the Hugging Face class keeps the encoder's pooler.
        tied: names in the file that are further copies of a variable.
        options: fields of `config.json` that change the head.
        widens_tokens: whether the output embedding is the token embedding, widened to `hidden_dim`
            by features of its own (MobileBERT's masked LM).
    """

    architecture: str
    weights: tuple[Row, ...]
    pool: str | None = None
    input_dropout: float | str = 0.0
    dense: str | None = None
    dense_bias: bool = True
    norm: bool = False
    dropout: float | str = 0.0
    has_pooler: bool = False
    tied: tuple[Row, ...] = ()
    options: tuple[Option, ...] = ()
    widens_tokens: bool = False

    def read_options(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Fields of this head that a `config.json` sets."""
        return {
            option.ours: option.read(values[option.theirs])
            for option in self.options
            if values.get(option.theirs) is not None
        }

    def write_options(self) -> dict[str, Any]:
        """The fields of a `config.json` that describe this head, once it is resolved."""
        return {option.theirs: option.write(getattr(self, option.ours)) for option in self.options}

    def resolve(self, config, **options) -> Head:
        """This head with options, and with what it takes from the encoder's configuration."""
        head = dataclasses.replace(self, **options)
        dropout = config.hidden_dropout if head.dropout == "hidden" else head.dropout
        rates = {"hidden": config.hidden_dropout, "output": dropout}
        return dataclasses.replace(
            head,
            dense=config.activation if head.dense == "encoder" else head.dense,
            dropout=dropout,
            input_dropout=rates.get(head.input_dropout, head.input_dropout),
        )


# What a task gets in a family for which Hugging Face has no such class.
DEFAULT_HEADS = {
    "classifier": Head("", (), pool="first", dropout="hidden"),
    "token_classifier": Head("", (), dropout="hidden"),
    "question_answerer": Head("", ()),
    "multiple_choice": Head("", (), pool="first", dropout="hidden"),
    "masked_lm": Head("", (), dense="encoder", norm=True),
    "pretraining": Head("", (), dense="encoder", norm=True, has_pooler=True),
    "replaced_tokens": Head("", (), dense="encoder"),
    "text_embedder": Head("", (), has_pooler=True),
}
