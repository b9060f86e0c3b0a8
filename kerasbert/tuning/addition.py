"""What the parameter-efficient methods share: something is added to a frozen encoder."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any, ClassVar

import keras

from kerasbert.tuning.compiling import compiled_anew


@dataclasses.dataclass(frozen=True)
class Addition:
    """The settings of one method; each method is a frozen dataclass derived from this.

    An encoder keeps those that were added to it (`encoder.additions`), and its configuration lists
    them, so that a saved model is built with them again.

    Attributes:
        method: name of the method, that of its function in `kerasbert.tuning`.
        can_merge: whether the trained weights can be folded into the encoder's.
    """

    method: ClassVar[str]
    can_merge: ClassVar[bool] = False

    def check(self, encoder) -> None:
        """Raise a `ValueError` if the encoder cannot have this addition."""

    def put_into(self, encoder) -> None:
        """Make the new weights, each with the path of its place in the encoder."""
        raise NotImplementedError

    def start(self, encoder) -> None:
        """Give the new weights values to train from, where that takes more than an initialiser."""

    def trains(self, path: str) -> bool:
        """Whether the method trains the encoder's weight of this path."""
        raise NotImplementedError

    def add_to(self, encoder) -> None:
        """Put it into an encoder, and freeze all weights that no addition trains."""
        self._check_all(encoder)
        self.put_into(encoder)
        encoder.additions = (*encoder.additions, self)
        train_additions_only(encoder)

    def to_dict(self) -> dict[str, Any]:
        """Plain data from which `kerasbert.tuning.additions.read_additions` rebuilds it."""
        return {"method": self.method, **dataclasses.asdict(self)}

    def _check_all(self, encoder):
        if any(addition.method == self.method for addition in encoder.additions):
            raise ValueError(
                f"The encoder has `{self.method}` already. Load the model again to have others"
                f"{', or merge them first' if self.can_merge else ''}. "
                f"Received: {encoder.additions}"
            )
        self.check(encoder)


def add(model, addition: Addition):
    """Put an addition into a model in place, and return the model."""
    encoder = encoder_of(model)
    addition._check_all(encoder)
    with compiled_anew(model):
        addition.add_to(encoder)
        addition.start(encoder)
    return model


def encoder_of(model) -> keras.Model:
    """The encoder of a task, or the encoder itself.

    Raises:
        TypeError: for anything else.
    """
    encoder = getattr(model, "backbone", model)
    if not hasattr(encoder, "additions"):
        raise TypeError(
            "`model` must be a `kerasbert.Encoder` or a task such as `TextClassifier`. "
            f"Received: model={model!r}"
        )
    return encoder


def check_plain(encoder, purpose: str) -> None:
    """Refuse an encoder with additions where a plain one is needed.

    Args:
        encoder: an `Encoder`.
        purpose: what needs it, for the message.

    Raises:
        ValueError: if anything was added to the encoder.
    """
    if not encoder.additions:
        return
    can_merge = all(addition.can_merge for addition in encoder.additions)
    remedy = (
        "Fold what was added into the weights first, with `kerasbert.tuning.merge`."
        if can_merge
        else "What was added cannot be folded into the weights: `save_to_preset` and "
        "`tuning.save_delta` keep it."
    )
    raise ValueError(
        f"{purpose} knows plain encoders only. {remedy} Received: additions={encoder.additions}"
    )


def blocks_of(encoder) -> list[keras.layers.Layer]:
    """The encoder's distinct blocks, each once."""
    return [layer for layer in encoder.layers if layer.name.startswith("layer_")]


def train_additions_only(encoder) -> None:
    """Freeze an encoder but for what its additions train.

    Layers that were frozen stay so, unless something in them is trained.
    """
    frozen = [x for x in encoder._flatten_layers(include_self=False) if not x.trainable]
    encoder.trainable = True  # all that can be: a quantized kernel cannot
    for variable in encoder.weights:
        is_added = any(addition.trains(variable.path) for addition in encoder.additions)
        variable.trainable = variable.trainable and is_added
    for layer in frozen:
        if not any(variable.trainable for variable in layer.weights):
            layer.trainable = False


@contextlib.contextmanager
def opened(layer: keras.layers.Layer) -> Iterator[None]:
    """Let a layer that is built take new parts inside the `with` block.

    What is built inside has the layer's path before its own. Keras opens its layers in the same way
    where it adds the factors of LoRA itself, and offers no public one.
    """
    above, _, name = layer.path.rpartition("/")
    layer._tracker.unlock()
    try:
        with keras.name_scope(name, override_parent=above):
            yield
    finally:
        layer._tracker.lock()
