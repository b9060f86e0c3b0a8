"""Google's original TF 1 checkpoints, by the tables in `families/google.py`."""

from __future__ import annotations

import contextlib
import dataclasses
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.filling import NamedWeights
from kerasbert.checkpoints.saved_head import SavedHead
from kerasbert.checkpoints.sources import Source
from kerasbert.checkpoints.tensorflow_files import open_tensorflow_weights
from kerasbert.checkpoints.weight_files import WeightFiles
from kerasbert.families import Family, get_family
from kerasbert.families.google import ELECTRA, ELECTRA_GENERATOR, GOOGLE, GoogleModel
from kerasbert.families.names import Row
from kerasbert.layers import EncoderConfig

# What optimizers keep beside each weight (Adam and LAMB; Adafactor), and their counters.
_OPTIMIZER_STATE = re.compile(
    r"/(adam_[mv]|lamb_[mv]|Adam(_1)?|adafactor_v[rc]?|slot_v[rc]?)$|^(global_step|beta[12]_power)$"
)


@dataclasses.dataclass(frozen=True)
class GoogleFolder:
    """A folder as Google released it, read as far as its configuration.

    Args:
        folder: the folder.
        facts: the network in its checkpoint that is read.
        family: the family of its encoder.
        config: its encoder's configuration.
    """

    folder: Path
    facts: GoogleModel
    family: Family
    config: EncoderConfig

    @classmethod
    def open(cls, source: Source, task: str | None = None) -> GoogleFolder:
        """Read the configuration of a `Source` of layout `"google"`.

        Args:
            source: where to read.
            task: the task that the network is wanted for. `"masked_lm"` means ELECTRA's generator,
                anything else its discriminator.

        Raises:
            CheckpointError: if the folder is of no known model, or incomplete.
            ImportError: for ELECTRA's, whose checkpoint must be opened, if TensorFlow is missing.
        """
        for facts in GOOGLE:
            if facts.config_file and (source.folder / facts.config_file).is_file():
                path, values = source.folder / facts.config_file, source.config
                return cls._of(source.folder, facts, values, str(path))
        facts = ELECTRA_GENERATOR if task == "masked_lm" else ELECTRA
        with open_tensorflow_weights(source.folder) as files:
            values = _electra_values(files, facts, source.folder)
        return cls._of(source.folder, facts, values, f"The checkpoint in {source.folder}")

    @classmethod
    def _of(cls, folder: Path, facts: GoogleModel, values: Mapping[str, Any], source: str):
        family = get_family(facts.family)
        if values.get("hidden_act", "gelu") == "gelu":
            values = {**values, "hidden_act": facts.gelu}
        config = family.read_config(values, source=source)
        if config.embedding_dim == config.hidden_dim:  # then nothing is projected
            config = config.replace(embedding_dim=None)
        return cls(folder, facts, family, config)

    @contextlib.contextmanager
    def weights(self) -> Iterator[GoogleWeights]:
        """Open the checkpoint for a `with` block."""
        with open_tensorflow_weights(self.folder) as files:
            yield GoogleWeights(self.folder, files, self.facts)

    @property
    def encoder_rows(self) -> tuple[Row, ...]:
        """The encoder's variables and their names, for one block."""
        return self.facts.weights

    @property
    def copies(self) -> tuple[Row, ...]:
        """Further names of variables; there are none."""
        return ()

    def head_rows(self, task: str) -> tuple[Row, ...]:
        """The variables of a task's head and their names."""
        return self.facts.heads.get(task, ())

    def head(self, task: str) -> SavedHead | None:
        """The saved head of a task, or `None` if the checkpoint has not all of it."""
        rows = self.head_rows(task)
        if not rows:
            return None
        with self.weights() as weights:
            return SavedHead() if all(weights.key(row) for row in rows) else None


class GoogleWeights(NamedWeights):
    """The variables of a checkpoint."""

    def __init__(self, folder: Path, files: WeightFiles, facts: GoogleModel):
        super().__init__(folder, files, facts.config_file or "checkpoint")
        self._others = facts.others

    def is_passed_over(self, key):
        return key.startswith(self._others) or bool(_OPTIMIZER_STATE.search(key))


def _electra_values(files: WeightFiles, facts: GoogleModel, folder: Path) -> dict[str, Any]:
    """The configuration of an ELECTRA network, whose releases have none: from its shapes.

    The number of heads has no shape; it is the width over 64, as in the released code
    (`util/training_utils.py` and `run_pretraining.py`).
    """
    scope = "generator" if facts is ELECTRA_GENERATOR else "electra"
    try:
        vocabulary, embedding = files.shape("electra/embeddings/word_embeddings")
        positions, _ = files.shape("electra/embeddings/position_embeddings")
        segments, _ = files.shape("electra/embeddings/token_type_embeddings")
        width, intermediate = files.shape(f"{scope}/encoder/layer_0/intermediate/dense/kernel")
    except (KeyError, ValueError) as error:
        raise CheckpointError(
            f"{folder} has neither the configuration of a BERT or ALBERT model "
            f"({', '.join(model.config_file for model in GOOGLE if model.config_file)}) nor the "
            f"variables of an ELECTRA model. Missing: {error}"
        ) from error
    found = {re.match(rf"{scope}/encoder/layer_(\d+)/", key) for key in files}
    return {
        "vocab_size": vocabulary,
        "embedding_size": embedding,
        "hidden_size": width,
        "num_hidden_layers": len({match[1] for match in found if match}),
        "num_attention_heads": max(1, width // 64),
        "intermediate_size": intermediate,
        "max_position_embeddings": positions,
        "type_vocab_size": segments,
    }
