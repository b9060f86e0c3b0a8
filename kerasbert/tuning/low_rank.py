"""Low-rank adaptation (LoRA; Hu et al., 2021, arXiv:2106.09685)."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import ClassVar

import keras
from keras import ops

from kerasbert.layers import Dense
from kerasbert.layers.dense import LORA_FACTORS
from kerasbert.tuning.addition import Addition, add


@dataclasses.dataclass(frozen=True)
class LowRank(Addition):
    """The settings of `lora`."""

    rank: int = 8
    alpha: float | None = None
    targets: tuple[str, ...] = ("query", "value")

    method: ClassVar[str] = "lora"
    can_merge: ClassVar[bool] = True

    def __post_init__(self):
        targets = (self.targets,) if isinstance(self.targets, str) else tuple(self.targets)
        object.__setattr__(self, "targets", targets)
        if not isinstance(self.rank, int) or self.rank < 1:
            raise ValueError(f"`rank` must be an integer >= 1. Received: rank={self.rank!r}")
        if self.alpha is not None and not self.alpha > 0:
            raise ValueError(f"`alpha` must be positive. Received: alpha={self.alpha!r}")

    def check(self, encoder):
        layers = self.layers(encoder)
        _check_rank(self.rank, layers)
        modes = {layer.quantization_mode for layer in layers}
        if not modes <= {None, "int8", "int4"}:
            raise ValueError(
                "Keras has no LoRA for layers quantized in this way. Quantize to 'int8' or 'int4'. "
                f"Received: quantization={modes}"
            )

    def layers(self, encoder) -> list[Dense]:
        """The encoder's layers that the targets name.

        Raises:
            ValueError: if a target names none.
        """
        dense = [layer for layer in encoder._flatten_layers() if isinstance(layer, Dense)]
        unknown = [name for name in self.targets if not any(_is_named(x, name) for x in dense)]
        if unknown or not self.targets:
            raise ValueError(
                "`targets` must name dense layers of the encoder, by name or by the end of the "
                f"path. Its layers are {sorted({layer.name for layer in dense})}, or more exactly "
                f"{sorted({_without_block(layer) for layer in dense})}. "
                f"Received: {unknown or 'no target'}"
            )
        return [layer for layer in dense if any(_is_named(layer, name) for name in self.targets)]

    def put_into(self, encoder):
        for layer in self.layers(encoder):
            layer.enable_lora(self.rank, lora_alpha=self.alpha)

    def trains(self, path):
        return path.endswith(LORA_FACTORS)

    def fold(self, encoder):
        """Add the product of the factors to the kernels, and take the factors away."""
        for layer in self.layers(encoder):
            _fold(layer)


def lora(
    model,
    rank: int = 8,
    alpha: float | None = None,
    targets: Sequence[str] = ("query", "value"),
):
    """Train a low-rank update of some kernels: W + (alpha / rank) A B, B zero at the start.

    Hu et al., 2021, section 4.1. All else in the encoder is frozen; a task's head trains. `merge`
    folds the update into the kernels when training is done.

    The encoder may be one that Keras has quantized (`model.backbone.quantize("int8")`): the factors
    stay float32. Of a head that is quantized too, only biases train.

    Args:
        model: an `Encoder` or a task; changed in place, and compiled anew if it is compiled.
        rank: inner width of the update, at most the smaller side of each kernel. Default 8.
        alpha: the update is scaled by `alpha / rank`. Default `None`: by 1.
        targets: which dense layers get it: their names (`"query"`, `"key"`, `"value"`, `"output"`,
            `"intermediate"`, ...), or the ends of their paths (`"attention/output"`). Default:
            queries and values, as in the paper's section 4.2.

    Returns:
        The model.

    Raises:
        ValueError: for a target that the encoder does not have, or a rank that does not fit.
        TypeError: if `model` is something else.

    Example:

    ```python
    import kerasbert
    from kerasbert import tuning

    config = kerasbert.EncoderConfig(num_layers=2, num_heads=2, hidden_dim=32, intermediate_dim=64)
    classifier = kerasbert.TextClassifier(kerasbert.Encoder(config), num_classes=2)
    tuning.lora(classifier, rank=4, alpha=8)
    assert len(classifier.backbone.trainable_variables) == 2 * 2 * 2
    ```
    """
    return add(model, LowRank(rank, alpha, targets))


def _is_named(layer: keras.layers.Layer, target: str) -> bool:
    return f"/{layer.path}".endswith(f"/{target}")


def _without_block(layer: keras.layers.Layer) -> str:
    above, _, rest = layer.path.partition("/")
    return rest if above.startswith("layer_") else layer.path


def _check_rank(rank, layers):
    for layer in layers:
        limit = min(layer.input_spec.axes[-1], layer.units)
        if rank > limit:
            raise ValueError(
                "`rank` must not exceed the smaller side of a kernel. "
                f"Received: rank={rank}, at most {limit} for {layer.path!r}"
            )


def _fold(layer: Dense) -> None:
    merged = {}
    keras.layers.Dense.save_own_variables(layer, merged)  # Keras's own adds the product
    if layer.quantization_mode is None:  # but rounds it to the compute dtype
        a, b = (ops.convert_to_numpy(getattr(layer, name)) for name in LORA_FACTORS)
        layer.lora_enabled = False
        kernel = ops.convert_to_numpy(ops.cast(layer.kernel, "float32"))
        merged["0"] = kernel + layer.lora_alpha / layer.lora_rank * (a @ b)
    layer.lora_enabled = False
    for name in LORA_FACTORS:
        delattr(layer, name)
    layer.lora_rank = layer.lora_alpha = None
    layer.load_own_variables(merged)
