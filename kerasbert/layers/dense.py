"""The dense layer of all projections."""

from __future__ import annotations

import keras
import numpy as np
from keras import ops

LORA_FACTORS = ("lora_kernel_a", "lora_kernel_b")


class Dense(keras.layers.Dense):
    """`keras.layers.Dense` whose files keep the factors of LoRA apart from the kernel.

    Keras adds them to the kernel when it saves, and loads zeros for both: their product then has no
    gradient, and an int8 kernel is rounded once more.
    """

    def quantize(self, mode=None, type_check=True, config=None):
        super().quantize(mode, type_check=False, config=config)  # Keras refuses subclasses

    def save_own_variables(self, store):
        factors = self._factors()
        self.lora_enabled = False
        try:
            super().save_own_variables(store)
        finally:
            self.lora_enabled = bool(factors)
        for name, factor in factors.items():
            store[name] = factor

    def load_own_variables(self, store):
        saved = {name: store[name] for name in store.keys()}  # noqa: SIM118 (not a dict)
        factors = {name: saved.pop(name) for name in LORA_FACTORS if name in saved}
        if factors and not self.lora_enabled:
            raise ValueError(
                "The file has factors of LoRA, which the model does not have. Call "
                f"`kerasbert.tuning.lora` on it first. Received: layer {self.path!r}"
            )
        factors = {**self._factors(), **factors}  # those of a base's file stay as they are
        super().load_own_variables(saved)
        for name, factor in factors.items():
            getattr(self, name).assign(factor)

    def _factors(self):
        """Copies of LoRA's factors by name; none without LoRA."""
        names = LORA_FACTORS if self.lora_enabled else ()
        return {name: np.array(ops.convert_to_numpy(getattr(self, name))) for name in names}
