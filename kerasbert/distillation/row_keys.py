"""Keys by which rows of tokens are found again."""

from __future__ import annotations

import hashlib

import numpy as np

from kerasbert.distillation.cached_rows import KEY_BYTES

_CHUNK = 256


def keys_of(examples) -> list[list[bytes]]:
    """For each example, a key of each of its rows: one, or one for each of its choices.

    Rows have the same key if their tokens and segments are the same, whatever the padding.

    Args:
        examples: what has the interface of `kerasbert.text.Examples`.
    """
    found = []
    for start in range(0, len(examples), _CHUNK):
        inputs = examples.batch(np.arange(start, min(start + _CHUNK, len(examples))))
        columns = [
            np.ascontiguousarray(inputs[name], np.int32)
            for name in ("token_ids", "segment_ids", "global_mask")
            if name in inputs
        ]
        masks = inputs["padding_mask"].astype(bool)
        for example in range(len(masks)):
            rows = [column[example].reshape(-1, masks.shape[-1]) for column in columns]
            of_example = masks[example].reshape(-1, masks.shape[-1])
            found.append([_key(rows, row, mask) for row, mask in enumerate(of_example)])
    return found


def _key(columns, row: int, mask: np.ndarray) -> bytes:
    state = hashlib.blake2b(digest_size=KEY_BYTES)
    for column in columns:
        state.update(column[row][mask].tobytes())
    return state.digest()
