"""What the program `litert_worker` is asked to do."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

# Of every file: an encoder without segments ignores `segment_ids`. MediaPipe loads text classifiers
# with three inputs only, and an application need not know which encoder is inside.
INPUTS = ("token_ids", "segment_ids", "padding_mask")
QUANTIZATIONS = (None, "float16", "dynamic_int8")


@dataclass(frozen=True)
class ConversionRequest:
    """What to convert.

    Args:
        sequence_length: int or None. Length of every input; None for files that take any length.
        activation: `"softmax"`, `"sigmoid"` or None. What turns the logits into probabilities.
        quantizations: one of `QUANTIZATIONS` per file.
        reference: Whether to compute the logits of the parity batches.
    """

    sequence_length: int | None
    activation: str | None
    quantizations: list[str | None]
    reference: bool

    @property
    def output(self) -> str:
        """The output's name in the files."""
        return "probabilities" if self.activation else "logits"

    def write(self, folder: Path) -> None:
        """Writes the request into the folder that the program is given."""
        (folder / "request.json").write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> ConversionRequest:
        """Reads what `write` wrote."""
        return cls(**json.loads((folder / "request.json").read_text(encoding="utf-8")))
