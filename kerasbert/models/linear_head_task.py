"""Tasks whose head is one linear output, behind what the family puts before it."""

from __future__ import annotations

from typing import ClassVar

import keras

from kerasbert.models.heads import ClassificationHead, pooled_input, quantized_policies
from kerasbert.models.task import EncoderTask


class LinearHeadTask(EncoderTask):
    """A task with a `ClassificationHead`.

    A subclass says how many outputs it has (`num_outputs`), and may derive the head's input
    (`_states`) and the logits (`_logits`) in another way, or build its model itself.
    """

    num_outputs: ClassVar[int]

    def __init__(
        self,
        backbone,
        preprocessor=None,
        dropout=None,
        head_options=None,
        head_dtype=None,
        name=None,
        compile=True,
    ):
        facts = self._set_up(backbone, preprocessor, dropout, head_options)
        inputs, states, facts = self._states(facts)
        self.head = self._make_head(facts, self.num_outputs, head_dtype)
        logits = self._logits(self.head(states), inputs)
        super().__init__(inputs=inputs, outputs=logits, name=name, compile=compile)

    def _states(self, facts):
        """The model's inputs, what the head reads, and the facts of the head."""
        inputs = self.backbone.input
        outputs = self.backbone(inputs)
        return inputs, *pooled_input(facts, self.backbone, outputs, inputs["padding_mask"])

    def _logits(self, outputs, inputs):
        return outputs

    def _make_head(self, facts, outputs, head_dtype) -> ClassificationHead:
        return ClassificationHead(
            self.backbone.config,
            outputs,
            facts,
            dtype=keras.dtype_policies.get(head_dtype or self.backbone.dtype_policy),
            name="head",
        )

    def get_config(self):
        return {**super().get_config(), "head_dtype": quantized_policies(self.head)}
