"""What is trained, and how fast: a table of a model's parts."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

import keras
from keras import ops

from kerasbert.tuning.adam_w import AdamW
from kerasbert.tuning.depths import count_layers, depth_of, part_of
from kerasbert.tuning.optimizers import inner


@dataclasses.dataclass(frozen=True)
class PartRow:
    """One part of a model: embeddings, a layer, the pooler, a head, ...

    Attributes:
        part: str, `"embeddings"`, `"layer_0"`, ..., as its variables' paths have it.
        parameters: int, how many it has.
        trainable: int, how many of them train.
        relative_rate: float, their learning rate as a factor of the optimizer's; 0 while
            `GradualUnfreezing` holds them. `None` if none trains or the model is not compiled.
        peak_rate: float, the highest learning rate that they get. `None` as above, or where a
            schedule does not tell.
        weight_decay: float, the decay of those that decay. `None` as above.
        decayed: int, how many of the trainable ones decay.
    """

    part: str
    parameters: int
    trainable: int
    relative_rate: float | None
    peak_rate: float | None
    weight_decay: float | None
    decayed: int


@dataclasses.dataclass(frozen=True)
class Description:
    """The rows of `describe`, from the embeddings up; `print` shows them as a table.

    Attributes:
        rows: tuple of `PartRow`.
    """

    rows: tuple[PartRow, ...]

    def __iter__(self) -> Iterator[PartRow]:
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: str) -> PartRow:
        """The row of a part, by its name."""
        for row in self.rows:
            if row.part == part:
                return row
        raise KeyError(f"There is no part {part!r}. There are {[row.part for row in self.rows]}.")

    def __str__(self) -> str:
        head = ("part", "parameters", "trainable", "rate", "peak rate", "weight decay", "on")
        total = ("all", _count(self, "parameters"), _count(self, "trainable"), "", "", "")
        table = [head, *map(_cells, self.rows), (*total, _count(self, "decayed"))]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = (
            "  ".join(
                cell.rjust(width) if index else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(cells, widths, strict=True))
            )
            for cells in table
        )
        return "\n".join(line.rstrip() for line in lines)


def describe(model: keras.Model) -> Description:
    """Tabulate what a model's optimizer does with each part of it.

    Args:
        model: a task or an encoder; rates and decays are those of the optimizer that it is compiled
            with.

    Returns:
        A `Description`: `print` it, iterate over its rows, or ask for one by name.

    Raises:
        ValueError: if the model is not built.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    classifier.compile(tuning.optimizer(classifier, learning_rate=1e-3, layer_decay=0.5))
    table = tuning.describe(classifier)
    print(table)
    assert [row.part for row in table][:2] == ["embeddings", "layer_0"]
    assert table["layer_0"].peak_rate == 0.5 * 1e-3
    ```
    """
    if not model.weights:
        raise ValueError(f"The model has no weights yet; build it first. Received: model={model!r}")
    count = count_layers(model.weights)
    parts: dict[str, list] = {}
    for variable in sorted(model.weights, key=lambda each: depth_of(each.path, count)):
        parts.setdefault(part_of(variable.path), []).append(variable)
    optimizer = inner(model.optimizer) if model.compiled and model.optimizer else None
    trainable = model.trainable_weights
    if optimizer is not None and not optimizer.built:
        model.optimizer.build(trainable)
    known = {id(variable) for variable in trainable}
    return Description(
        tuple(
            _row(part, variables, [each for each in variables if id(each) in known], optimizer)
            for part, variables in parts.items()
        )
    )


def _row(part, variables, trainable, optimizer) -> PartRow:
    relative, peak, decay, decayed = None, None, None, []
    if trainable and optimizer is not None:
        is_ours = isinstance(optimizer, AdamW)
        relative = optimizer.relative_rate(trainable[0]) if is_ours else 1.0
        peak = _peak(optimizer)
        peak = None if peak is None else peak * relative
        decay = optimizer.weight_decay or 0.0
        decayed = [v for v in trainable if decay and _decays(optimizer, v)]
    return PartRow(part, _size(variables), _size(trainable), relative, peak, decay, _size(decayed))


def _decays(optimizer, variable) -> bool:
    if isinstance(optimizer, AdamW):
        return optimizer.decays(variable)
    return optimizer._use_weight_decay(variable)  # Keras has no public name for it


def _peak(optimizer) -> float | None:
    rate = optimizer._learning_rate
    if isinstance(rate, keras.Variable):
        return float(ops.convert_to_numpy(rate))
    return getattr(rate, "peak", None)


def _size(variables) -> int:
    return sum(math.prod(variable.shape) for variable in variables)


def _count(rows, name) -> str:
    return f"{sum(getattr(row, name) for row in rows):,}"


def _cells(row: PartRow) -> tuple[str, ...]:
    return (
        row.part,
        f"{row.parameters:,}",
        f"{row.trainable:,}",
        _number(row.relative_rate),
        _number(row.peak_rate),
        _number(row.weight_decay),
        f"{row.decayed:,}",
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"
