"""Words of a domain as tokens of their own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import keras
import numpy as np
from keras import ops

from kerasbert.tuning.addition import encoder_of, opened
from kerasbert.tuning.compiling import compiled_anew


def extend_vocabulary(model, words: Iterable[str]):
    """Add words to a model's tokenizer, and rows for them to its token embedding.

    A new row is the mean of the rows of the pieces that the word was split into so far (as in Gee
    et al., 2022, "Fast Vocabulary Transfer"), so that training goes on from near where it was. In a
    masked language model, whose output embedding is the same table, the bias and what else there is
    for each token grow in the same way. Rows that the table has beyond the tokenizer's tokens are
    used first.

    Args:
        model: a task with a preprocessor; changed in place together with its tokenizer, and
            compiled anew if it is compiled.
        words: words to add. Those that the vocabulary has already are left as they are.

    Returns:
        The model. `model.backbone.config.vocabulary_size` is the new number of rows.

    Raises:
        ValueError: if the model has no preprocessor, its embedding is quantized, or a word is
            empty.
        TypeError: if a word is not a string, or `model` is no task.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    tokenizer = kerasbert.Tokenizer.train(["wake me at seven"], vocabulary_size=60)
    size = tokenizer.vocabulary_size()
    config = kerasbert.EncoderConfig(
        vocabulary_size=size, num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    classifier = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        num_classes=2,
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer),
    )
    tuning.extend_vocabulary(classifier, ["xylophone", "a"])
    assert classifier.backbone.config.vocabulary_size == size + 1
    ```
    """
    encoder = encoder_of(model)
    tokenizer = _tokenizer_of(model)
    _check_table(encoder.token_embedding)
    words = [words] if isinstance(words, str) else list(words)
    known = set(tokenizer.get_vocabulary())
    pieces = {word: tokenizer.tokenize(word) for word in words if word not in known}
    with compiled_anew(model):
        tokenizer.add_tokens(words)
        pieces_by_id = {tokenizer.token_to_id(word): ids for word, ids in pieces.items()}
        size = max(encoder.config.vocabulary_size, tokenizer.vocabulary_size())
        encoder.config = encoder.config.replace(vocabulary_size=size)
        encoder.token_embedding.input_dim = size
        _grow(encoder.token_embedding, "_embeddings", 0, size, pieces_by_id)
        head = getattr(model, "head", None)
        if hasattr(head, "token_embedding"):  # it scores every token
            head.config = encoder.config
            for name in ("bias", "decoder"):
                if getattr(head, name) is not None:
                    _grow(head, name, -1, size, pieces_by_id)
    return model


def _tokenizer_of(model):
    preprocessor = getattr(model, "preprocessor", None)
    if preprocessor is None:
        raise ValueError(
            "Words are added to a tokenizer and to an encoder alike: the model must be a task with "
            f"a preprocessor. Received: {type(model).__name__} with preprocessor=None"
        )
    return preprocessor.tokenizer


def _check_table(table):
    if table.quantization_mode is not None:
        raise ValueError(
            "A quantized embedding cannot grow. Extend the vocabulary before `quantize`. "
            f"Received: quantization={table.quantization_mode!r}"
        )


def _grow(layer, name: str, axis: int, size: int, pieces: Mapping[int, list[int]]) -> None:
    """Let one axis of a layer's variable have `size` entries, the new ones means of others."""
    old = getattr(layer, name)
    values = np.moveaxis(ops.convert_to_numpy(ops.cast(old, "float32")), axis, 0)
    grown = np.zeros((size, *values.shape[1:]), "float32")
    grown[: len(values)] = values
    for index, ids in pieces.items():
        grown[index] = np.mean(values[ids or slice(None)], axis=0)
    _replace(layer, name, np.moveaxis(grown, 0, axis))


def _replace(layer: keras.layers.Layer, name: str, value: np.ndarray) -> None:
    """Give a layer's variable another shape: a new one takes its name and its place."""
    old = getattr(layer, name)
    delattr(layer, name)
    with opened(layer):
        new = layer.add_weight(
            shape=value.shape,
            initializer="zeros",
            dtype=old.dtype,
            trainable=old.trainable,
            name=old.name,
        )
        setattr(layer, name, new)
    new.assign(value)
