"""Record what happens inside an encoder, without a second definition of its forward pass.

Layers offer their intermediate values by name; a `trace` that is active collects those that it was
asked for. Nothing is computed for a trace that is not active.

Example:

```python
with kerasbert.trace("hidden_states", "attention_weights") as record:
    outputs = encoder(batch)
record["hidden_states"][0]       # the embeddings, (batch, length, hidden_dim)
record["attention_weights"][3]   # of the fourth applied layer, (batch, heads, length, length)
```
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

TRACES = (
    "hidden_states",  # (B, T, D): the embeddings, then the output of each applied layer
    "attention_scores",  # (B, N, T, T): scaled, before mask and softmax
    "attention_weights",  # (B, N, T, T): after softmax, before dropout
    "queries",  # (B, T, N, H)
    "keys",  # (B, T, N, H)
    "values",  # (B, T, N, H)
)


class Record(dict):
    """Traced values by name: `record[name]` is a list, one tensor per applied layer."""


_active: ContextVar[tuple[Record, ...]] = ContextVar("kerasbert_traces", default=())


@contextlib.contextmanager
def trace(*names: str) -> Iterator[Record]:
    """Collect intermediate values of every encoder that runs inside the `with` block.

    It may stand around an encoder or a task, called eagerly or inside a compiled training step (the
    values then belong to that step). Around `predict` or `fit` as a whole it cannot serve: their
    steps are compiled, and a compiled step does not run this Python code again. Traces nest; each
    collects on its own. A model that is called twice in one block appends twice.

    Args:
        *names: what to collect, of `kerasbert.layers.TRACES`: `"hidden_states"` (batch, length,
            hidden_dim), the embeddings first, then one per applied layer; `"attention_scores"` and
            `"attention_weights"` (batch, heads, length, length); `"queries"`, `"keys"`, `"values"`
            (batch, length, heads, head size).

    Yields:
        A `Record`, a dict from each name to the list of its values by layer index.

    Raises:
        ValueError: for a name that is not traced.

    Example:

    ```python
    import numpy as np
    import kerasbert

    encoder = kerasbert.Encoder(kerasbert.EncoderConfig(num_layers=2, hidden_dim=48))
    ids = np.ones((1, 4), "int32")
    batch = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids}
    with kerasbert.trace("hidden_states") as record:
        encoder(batch)
    assert len(record["hidden_states"]) == 3
    ```
    """
    unknown = [name for name in names if name not in TRACES]
    if unknown:
        raise ValueError(
            f"Nothing is traced under this name. Use some of {TRACES}. Received: {unknown}"
        )
    record = Record({name: [] for name in names})
    token = _active.set((*_active.get(), record))
    try:
        yield record
    finally:
        _active.reset(token)


def is_traced(*names: str) -> bool:
    """Whether an active trace asks for any of `names`."""
    return any(name in record for record in _active.get() for name in names)


def write(name: str, value) -> None:
    """Offer `value` under `name` to the active traces."""
    for record in _active.get():
        if name in record:
            record[name].append(value)
