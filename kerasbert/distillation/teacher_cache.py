"""The teacher's outputs on disk, computed once for all epochs, runs and backends."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

import keras
import numpy as np
from keras import ops

from kerasbert.data.files import atomic_write, ensure_writable_folder
from kerasbert.distillation.cached_rows import CachedRows, Column
from kerasbert.distillation.objectives.objective import Outputs
from kerasbert.distillation.passes import run
from kerasbert.distillation.row_keys import keys_of

_FACTS = "cache.json"
# In memory until it is written: little enough to lose when killed, much enough for few files.
_BYTES_OF_A_PART = 2**27
_BATCH = 32
_LOGITS = "logits"
# How many axes of tokens there are in what is traced of a row; 1 where it is not said.
_TOKEN_AXES = {"attention_scores": 2, "attention_weights": 2}


class TeacherCache:
    """Keeps a teacher's outputs in a folder, so that it runs once for each example.

    Give it to a `Distiller`: before training starts, what the folder lacks is computed and written,
    with progress; then the teacher does not run again, in this run or in later ones, on whatever
    backend. Examples are found by their tokens, so their order and number may change. Several
    processes may read a folder while one writes. A killed run loses at
    most the last 128 MiB that were computed.

    Kept are the logits, and of what the objectives trace, the layers that they read.

    Args:
        folder: str or path; made where it is missing.
        dtype: `"float32"` (default) or `"float16"`, half as large, on disk.

    Raises:
        ValueError: for another `dtype`; in a `Distiller`, if the folder has outputs of another
            teacher or lacks what the objectives read.

    Example:

    ```python
    import kerasbert
    from kerasbert.distillation import Distiller, TeacherCache, make_student, objectives

    texts, labels = ["wake me", "play jazz", "an alarm", "a song"], [0, 1, 0, 1]
    tokenizer = kerasbert.Tokenizer.train(texts, vocabulary_size=60)
    config = kerasbert.EncoderConfig(
        vocabulary_size=60, num_layers=4, num_heads=2, hidden_dim=32, intermediate_dim=64
    )
    teacher = kerasbert.TextClassifier(
        kerasbert.Encoder(config),
        num_classes=2,
        preprocessor=kerasbert.TextClassifierPreprocessor(tokenizer),
    )
    distiller = Distiller(
        teacher,
        make_student(teacher, layers=[0, 3]),
        [objectives.SoftTargets()],
        cache=TeacherCache("teacher_outputs"),
    )
    distiller.fit(texts, labels, epochs=3)  # the teacher reads each text once
    ```
    """

    def __init__(self, folder: str | os.PathLike, dtype: str = "float32"):
        if dtype not in ("float32", "float16"):
            raise ValueError(f'`dtype` must be "float32" or "float16". Received: dtype={dtype!r}.')
        self.folder, self.dtype = Path(folder), dtype
        self._teacher = None
        self._reads: list[tuple[str, int]] = []
        self._columns: list[Column] = []
        self._rows: CachedRows | None = None

    def bind(self, teacher, reads: Mapping[str, set[int]]) -> None:
        """Say whose outputs are kept, and which.

        Args:
            teacher: the model.
            reads: by name of a trace, the indices in it that are read.
        """
        self._teacher, self._rows = teacher, None
        self._reads = [(name, index) for name in sorted(reads) for index in sorted(reads[name])]

    def beside(self, examples, verbose) -> KeptOutputs:
        """What the teacher gives for examples; what the folder lacks is computed.

        Args:
            examples: the teacher's: `kerasbert.text.Examples` or what has its interface.
            verbose: 0 for no progress bar.
        """
        if self._rows is None:
            self._open(examples)
        self._rows.refresh()
        keys = keys_of(examples)
        missing = [at for at, of_one in enumerate(keys) if any(k not in self._rows for k in of_one)]
        self._compute(examples, missing, keys, verbose)
        return KeptOutputs(examples, keys, self._rows)

    def holds(self, values: Mapping) -> bool:
        """Whether these are arrays of `KeptOutputs`."""
        return _LOGITS in values

    def outputs(self, values: Mapping, inputs: Mapping) -> Outputs:
        """The teacher's outputs for a batch.

        Args:
            values: what `KeptOutputs` gave.
            inputs: the batch's input dict.
        """
        logits = values[_LOGITS]
        if not self._columns[0].token_axes:  # those of an example's choices stand side by side
            logits = ops.reshape(logits, (ops.shape(inputs["token_ids"])[0], -1))
        traces: dict[str, dict] = {}
        for name, index in self._reads:
            value = values[f"{name}-{index}"]
            value = ops.moveaxis(value, -1, 1) if name in _TOKEN_AXES else value
            traces.setdefault(name, {})[index] = value
        return Outputs(logits, traces)

    def _open(self, examples) -> None:
        """Learn the outputs' shapes from one example, and open the folder."""
        outputs = self._run(examples, np.arange(1))
        fill = getattr(self._teacher, "sequence_fill", None)
        self._columns = [
            Column(name, axes, array.shape[1 + axes :], fill or 0.0 if name == _LOGITS else 0.0)
            for name, axes, array in outputs
        ]
        ensure_writable_folder(self.folder)
        self._check_facts()
        self._rows = CachedRows(self.folder, self._columns, self.dtype)

    def _check_facts(self) -> None:
        facts = {
            "teacher": _fingerprint(self._teacher),
            "dtype": self.dtype,
            "outputs": [[each.name, each.token_axes, list(each.shape)] for each in self._columns],
        }
        path = self.folder / _FACTS
        if not path.exists():
            with atomic_write(path, "w") as file:
                json.dump(facts, file)
            return
        before = json.loads(path.read_text(encoding="utf-8"))
        differing = [name for name in facts if facts[name] != before.get(name)]
        if differing:
            raise ValueError(
                "The cache's folder has what another teacher gave, or other outputs of it. Give "
                f"this one a folder of its own. Received: {str(self.folder)!r}, where "
                f"{' and '.join(differing)} differ."
            )

    def _compute(self, examples, missing: list[int], keys, verbose) -> None:
        if not missing:
            return
        progress = keras.utils.Progbar(len(missing), verbose=verbose, unit_name="example")
        order = np.asarray(missing)[np.argsort(examples.lengths[missing], kind="stable")]
        part = _Part()
        for first in range(0, len(order), _BATCH):
            indices = order[first : first + _BATCH]
            self._append(part, examples, indices, keys)
            if part.num_bytes > _BYTES_OF_A_PART or first + _BATCH >= len(order):
                self._rows.add(part.keys, np.asarray(part.lengths), part.columns)
                part = _Part()
            progress.update(first + len(indices))

    def _append(self, part: _Part, examples, indices, keys) -> None:
        mask = examples.batch(indices)["padding_mask"]
        counts = mask.reshape(-1, mask.shape[-1]).sum(axis=1)
        part.keys += [key for at in indices for key in keys[at]]
        part.lengths += counts.tolist()
        for name, axes, array in self._run(examples, indices):
            rows = [row[(slice(n),) * axes].copy() for row, n in zip(array, counts, strict=True)]
            part.columns.setdefault(name, []).extend(rows)
            part.num_bytes += sum(row.nbytes for row in rows)

    def _run(self, examples, indices) -> list[tuple[str, int, np.ndarray]]:
        """The teacher's outputs: name, axes of tokens, and an array (rows, *tokens, ...)."""
        inputs = examples.batch(indices)
        num_rows = inputs["token_ids"].size // inputs["token_ids"].shape[-1]
        outputs = run(self._teacher, inputs, {name for name, _ in self._reads}, training=False)
        logits = np.asarray(ops.convert_to_numpy(ops.cast(outputs.logits, "float32")))
        is_of_tokens = getattr(self._teacher, "sequence_fill", None) is not None
        found = [
            (_LOGITS, 1, logits) if is_of_tokens else (_LOGITS, 0, logits.reshape(num_rows, -1))
        ]
        for name, index in self._reads:
            value = ops.convert_to_numpy(ops.cast(outputs.traces[name][index], "float32"))
            axes = _TOKEN_AXES.get(name, 1)
            value = np.moveaxis(value, 1, -1) if name in _TOKEN_AXES else value
            found.append((f"{name}-{index}", axes, np.asarray(value)))
        for name, _, array in found:
            if not np.isfinite(array).all():
                raise ValueError(
                    "The teacher gives NaN or infinite numbers, which nothing can be learnt from. "
                    f"Received: its {name}."
                )
        return found


@dataclasses.dataclass
class _Part:
    """Rows that are to be written together."""

    keys: list[bytes] = dataclasses.field(default_factory=list)
    lengths: list[int] = dataclasses.field(default_factory=list)
    columns: dict[str, list[np.ndarray]] = dataclasses.field(default_factory=dict)
    num_bytes: int = 0


class KeptOutputs:
    """A teacher's outputs for some examples.

    Args:
        examples: what has the interface of `kerasbert.text.Examples`.
        keys: for each example, the keys of its rows.
        rows: where these are kept.
    """

    def __init__(self, examples, keys: list[list[bytes]], rows: CachedRows):
        self._examples, self._keys, self._rows = examples, keys, rows

    def batch(self, indices) -> dict[str, np.ndarray]:
        """Arrays by name, padded as the batch of these examples is."""
        width = self._examples.batch(indices)["token_ids"].shape[-1]
        nothing = [None] * len(self._keys[0])
        keys = [key for at in indices for key in (self._keys[at] if at >= 0 else nothing)]
        return self._rows.read(keys, width)


def _fingerprint(model) -> str:
    """A hash of a model's weights."""
    state = hashlib.blake2b(digest_size=16)
    for variable in model.weights:
        array = np.ascontiguousarray(ops.convert_to_numpy(ops.cast(variable, "float32")))
        state.update(f"{tuple(array.shape)}".encode())
        state.update(array.tobytes())
    return state.hexdigest()
