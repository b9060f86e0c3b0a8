"""What prompts and prefixes share: their length, and random tokens to start from."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

from kerasbert.layers import Full, trace


def check_length(length: int) -> None:
    """Refuse a length that is not a positive integer."""
    if not isinstance(length, int) or length < 1:
        raise ValueError(f"`length` must be an integer >= 1. Received: length={length!r}")


def check_sees_all(method: str, encoder) -> None:
    """Refuse sparse attention, where not every token would see what is added."""
    if not isinstance(encoder.config.attention, Full):
        raise ValueError(
            f"`{method}` needs full attention: with a sparse one, not every token would see them. "
            f"Use `lora` or `adapters`. Received: attention={encoder.config.attention}"
        )


def trace_random_tokens(encoder, length: int, *names: str) -> dict[str, list[np.ndarray]]:
    """What `trace` records of random tokens of the vocabulary.

    Args:
        encoder: an `Encoder`.
        length: how many tokens. What is beyond the encoder's longest input repeats.
        *names: of `trace`.

    Returns:
        For each name the values (length, ...) of each applied layer.
    """
    config = encoder.config
    shape = (1, min(length, config.max_sequence_length))
    inputs = {name: np.zeros(shape, "int32") for name in encoder.input_names}
    ids = keras.random.randint(shape, 0, config.vocabulary_size)
    inputs["token_ids"] = ops.convert_to_numpy(ids).astype("int32")
    inputs["padding_mask"] = np.ones(shape, "int32")
    with trace(*names) as record:
        encoder(inputs)
    rows = np.arange(length) % shape[1] - shape[1]  # from the end: prompts stand before the tokens
    return {
        name: [ops.convert_to_numpy(ops.cast(x[0], "float32"))[rows] for x in record[name]]
        for name in names
    }
