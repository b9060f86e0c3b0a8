"""Which weights train: parts of the encoder frozen, or all of it but its biases."""

from __future__ import annotations

import keras

from kerasbert.layers import num_blocks
from kerasbert.tuning.addition import encoder_of
from kerasbert.tuning.compiling import compiled_anew
from kerasbert.tuning.depths import depth_of


def freeze(model: keras.Model, layers: int | str = "all", embeddings: bool = True) -> keras.Model:
    """Freeze the encoder, or its lower part; what was frozen before stays frozen.

    Frozen weights stay as they are to the bit, and are not decayed. Dropout in frozen parts stays
    active in training, as always in Keras; an encoder built with `hidden_dropout=0` and
    `attention_dropout=0` has none. That they are frozen is not saved with the model.

    Args:
        model: an `Encoder` or a task; changed in place, and compiled anew if it is compiled: its
            optimizer starts anew.
        layers: `"all"` (default) for all layers and what is above them in the encoder (pooler,
            final norm), so that the head alone trains; or int, how many layers from the lowest up.
            Layers that share their weights (ALBERT) count once.
        embeddings: bool, default `True`, whether embeddings are frozen, tables of relative
            positions included. A masked language model's output embeddings are the same weights.

    Returns:
        The model.

    Raises:
        ValueError: for layers that the encoder does not have.
        TypeError: if `model` is something else.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    tuning.freeze(classifier, layers=1)
    assert not any(v.path.startswith("layer_0/") for v in classifier.trainable_variables)
    tuning.freeze(classifier)
    assert len(classifier.trainable_variables) == 2
    ```
    """
    encoder = encoder_of(model)
    count = num_blocks(encoder.config)
    is_count = isinstance(layers, int) and not isinstance(layers, bool) and 0 <= layers <= count
    if layers != "all" and not is_count:
        raise ValueError(
            f'`layers` must be "all" or a number from 0 to {count}, the distinct layers that the '
            f"encoder has. Received: layers={layers!r}"
        )
    lowest, highest = (0 if embeddings else 1), (count + 1 if layers == "all" else layers)
    with compiled_anew(model):
        for variable in encoder.weights:
            if lowest <= depth_of(variable.path, count) <= highest:
                variable.trainable = False
    return model


def unfreeze(model: keras.Model) -> keras.Model:
    """Let all weights train again that `freeze`, `bitfit` or an addition such as `lora` froze.

    A layer whose own `trainable` is `False` stays as it is: the pooler, where the task does not
    read it, and what was frozen in Keras's way, which `layer.trainable = True` undoes.

    Args:
        model: an `Encoder` or a task; changed in place, and compiled anew if it is compiled: its
            optimizer starts anew.

    Returns:
        The model.

    Raises:
        TypeError: if `model` is something else.
    """
    encoder_of(model)
    with compiled_anew(model):
        _train_all(model)
    return model


def bitfit(model: keras.Model) -> keras.Model:
    """Train the encoder's biases alone, those of norms included, and the head (Ben Zaken et al.,
    2021, arXiv:2106.10199).

    Args:
        model: an `Encoder` or a task; changed in place, and compiled anew if it is compiled: its
            optimizer starts anew. The paper trains with rates from 1e-4 to 1e-2.

    Returns:
        The model.

    Raises:
        ValueError: if the encoder has no biases (ModernBERT).
        TypeError: if `model` is something else.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    tuning.bitfit(classifier)
    print(tuning.describe(classifier))
    ```
    """
    encoder = encoder_of(model)
    if not any(_is_bias(variable) for variable in encoder.weights):
        raise ValueError(
            "The encoder has no biases that could be trained. Use another way, such as "
            f"`tuning.lora`. Received: an encoder of config={encoder.config}"
        )
    with compiled_anew(model):
        _train_all(model)
        for variable in encoder.weights:
            if not _is_bias(variable):
                variable.trainable = False
    return model


def _train_all(model) -> None:
    """Train all weights but those of layers that are themselves frozen."""
    frozen = [layer for layer in model._flatten_layers() if not layer.trainable]
    model.trainable = False  # on TensorFlow, Keras passes over layers that are trainable already
    model.trainable = True
    for layer in frozen:
        layer.trainable = False


def _is_bias(variable) -> bool:
    """Norms call their bias beta."""
    return variable.path.endswith(("/bias", "/beta"))
