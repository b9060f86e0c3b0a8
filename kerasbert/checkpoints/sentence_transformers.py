"""Folders of sentence-transformers: an encoder's, with files that say what follows the encoder.

```
modules.json                which modules there are, in order, and where they lie
sentence_bert_config.json   how many tokens of a text count, and whether it is lowercased
1_Pooling/config.json       how the tokens' states become one vector
2_Dense/                    a linear layer with an activation: config.json, model.safetensors
3_Normalize/                vectors of length 1
```

Folders of before version 0.4 keep the encoder in a folder of its own, `0_Transformer/`.
"""

from __future__ import annotations

import dataclasses
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.json_files import read_json
from kerasbert.checkpoints.weight_files import open_weights, write_safetensors
from kerasbert.text.preprocessor import caller_depth

MODULES_FILE = "modules.json"
POOLING_FLAGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
}
_OTHER_POOLING_FLAGS = {
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
ACTIVATIONS = {
    "torch.nn.modules.linear.Identity": "linear",
    "torch.nn.modules.activation.Tanh": "tanh",
    "torch.nn.modules.activation.ReLU": "relu",
    "torch.nn.modules.activation.GELU": "gelu",
    "torch.nn.modules.activation.SiLU": "silu",
    "torch.nn.modules.activation.Sigmoid": "sigmoid",
}
_ENCODER_FIELDS = {
    "max_seq_length": None,
    "do_lower_case": None,
    "unpad_inputs": None,
    "transformer_task": "feature-extraction",
    "modality_config": {"text": {"method": "forward", "method_output_name": "last_hidden_state"}},
    "module_output_name": "token_embeddings",
}
_POOLING_FIELDS = {
    **dict.fromkeys((*POOLING_FLAGS, *_OTHER_POOLING_FLAGS, "pooling_mode")),
    "word_embedding_dimension": None,
    "embedding_dimension": None,
    "include_prompt": True,
}
_DENSE_FIELDS = {
    "in_features": None,
    "out_features": None,
    "bias": None,
    "activation_function": None,
    "module_input_name": "sentence_embedding",
    "module_output_name": "sentence_embedding",
    "use_residual": False,
}
_NORMALIZE_FIELDS = {
    "module_input_name": "sentence_embedding",
    "module_output_name": "sentence_embedding",
}
_MODEL_FIELDS = {
    **dict.fromkeys(("__version__", "prompts", "default_prompt_name", "similarity_fn_name")),
    "model_type": "SentenceTransformer",
}
_ORDER = ["Transformer", "Pooling", "Dense", "Normalize"]
_WEIGHT, _BIAS = "linear.weight", "linear.bias"


@dataclasses.dataclass(frozen=True)
class EmbeddingModules:
    """What a folder says of the way from an encoder's states to an embedding.

    Args:
        pooling: `"cls"`, `"mean"` or `"max"`.
        projection_dim: outputs of the dense layer, `None` without one.
        projection_activation: its activation, by kerasbert's name.
        normalize: whether embeddings have length 1.
        sequence_length: the most tokens of a text; `None` for as many as the encoder takes.
        lowercase: whether texts are lowercased before they are tokenized.
    """

    pooling: str = "mean"
    projection_dim: int | None = None
    projection_activation: str = "tanh"
    normalize: bool = False
    sequence_length: int | None = None
    lowercase: bool = False


def encoder_folder(folder: Path) -> Path:
    """Where the encoder lies in a folder, which may be of sentence-transformers."""
    return folder / _entries(folder)[0]["path"] if (folder / MODULES_FILE).is_file() else folder


def read_modules(folder: Path) -> EmbeddingModules | None:
    """What the modules of a folder of sentence-transformers are; `None` for another folder.

    Args:
        folder: the encoder's folder.

    Raises:
        CheckpointError: for modules or settings that are not supported, or broken files.
    """
    root = _root_of(folder)
    if root is None:
        return None
    files = _config_files(root)
    _check_model(root)
    length, lowercase = _read_encoder_settings(folder)
    if "Normalize" in files and files["Normalize"].is_file():
        _read(files["Normalize"], _NORMALIZE_FIELDS)
    return EmbeddingModules(
        pooling=_read_pooling(files["Pooling"]),
        **(_read_dense(files["Dense"]) if "Dense" in files else {}),
        normalize="Normalize" in files,
        sequence_length=length,
        lowercase=lowercase,
    )


def read_projection(folder: Path, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """The kernel (inputs, outputs) and the bias (outputs,) of the dense module.

    Args:
        folder: the encoder's folder, of sentence-transformers.
        shape: the kernel's shape.

    Raises:
        CheckpointError: if they are missing or of another shape.
    """
    dense = _config_files(_root_of(folder))["Dense"].parent
    with open_weights(dense) as weights:
        found = {key: weights.shape(key) for key in weights}
        wanted = {_WEIGHT: shape[::-1], **({_BIAS: shape[1:]} if _BIAS in found else {})}
        if found != wanted:
            raise CheckpointError(
                f"The weights in {dense} do not fit the folder's configuration. Fetch it again. "
                f"Received: {found}, expected: {wanted}"
            )
        kernel = weights.read(_WEIGHT).T
        return kernel, weights.read(_BIAS) if _BIAS in found else np.zeros(shape[1], "float32")


def write_modules(
    folder: Path,
    modules: EmbeddingModules,
    hidden_dim: int,
    projection: tuple[np.ndarray, np.ndarray] | None = None,
) -> None:
    """Write all files but the encoder's and the tokenizer's.

    Args:
        folder: the encoder's folder, which exists.
        modules: what follows the encoder.
        hidden_dim: the width of the encoder's states.
        projection: kernel (inputs, outputs) and bias (outputs,) of the dense module, if there is
            one.
    """
    pooling = {flag: modules.pooling == name for flag, name in POOLING_FLAGS.items()}
    configs = {"Transformer": None, "Pooling": {"word_embedding_dimension": hidden_dim, **pooling}}
    if projection is not None:
        configs["Dense"] = {
            "in_features": projection[0].shape[0],
            "out_features": modules.projection_dim,
            "bias": True,
            "activation_function": _their_activation(modules.projection_activation),
        }
    if modules.normalize:
        configs["Normalize"] = {}
    entries = []
    for index, (kind, config) in enumerate(configs.items()):
        path = "" if config is None else f"{index}_{kind}"
        kind = f"sentence_transformers.models.{kind}"  # where all versions find it
        entries.append({"idx": index, "name": str(index), "path": path, "type": kind})
        if config is not None:
            (folder / path).mkdir()
            _write(folder / path / "config.json", config)
    if projection is not None:
        kernel, bias = projection
        write_safetensors(folder / "2_Dense/model.safetensors", {_WEIGHT: kernel.T, _BIAS: bias})
    settings = {"max_seq_length": modules.sequence_length, "do_lower_case": modules.lowercase}
    _write(folder / "sentence_bert_config.json", settings)
    _write(folder / MODULES_FILE, entries)


def _root_of(encoder: Path) -> Path | None:
    """The folder that lists the modules of which an encoder's folder is the first."""
    for root in (encoder, encoder.parent):
        if (root / MODULES_FILE).is_file() and encoder_folder(root) == encoder:
            return root
    return None


def _config_files(root: Path) -> dict[str, Path]:
    """The configuration file of each module by its kind."""
    entries = _entries(root)
    kinds = [_kind(entry) for entry in entries]
    if kinds[:2] != _ORDER[:2] or kinds != [kind for kind in _ORDER if kind in kinds]:
        raise CheckpointError(
            f"{root / MODULES_FILE} lists modules that are not supported. Supported are "
            f"Transformer and Pooling, then Dense or Normalize or both. Received: {kinds}"
        )
    return {_kind(entry): root / entry["path"] / "config.json" for entry in entries}


def _entries(root: Path) -> list[dict[str, str]]:
    entries = read_json(root / MODULES_FILE, list)
    are_modules = all(
        isinstance(entry, dict)
        and all(isinstance(entry.get(name), str) for name in ("type", "path"))
        for entry in entries
    )
    if not entries or not are_modules:
        raise CheckpointError(
            f"{root / MODULES_FILE} must list modules with `type` and `path`. Save or fetch the "
            f"folder again. Received: {entries!r:.200}"
        )
    return entries


def _kind(entry: Mapping[str, Any]) -> str:
    """`"Pooling"` of any of sentence-transformers' paths to that class; else the whole path."""
    package, _, kind = entry["type"].rpartition(".")
    return kind if package.startswith("sentence_transformers.") else entry["type"]


def _read(path: Path, fields: Mapping[str, Any]) -> dict[str, Any]:
    """A configuration whose entries are known and, where `fields` gives a value, have it."""
    values = read_json(path)
    for name, value in values.items():
        if value is None or value == {} or (name in fields and fields[name] in (None, value)):
            continue
        supported = f"{fields[name]!r}" if name in fields else "to leave it out"
        raise CheckpointError(
            f"`{name}` in {path} changes the embeddings in a way that is not supported. Supported "
            f"is {supported}. Received: {name}={value!r}"
        )
    return values


def _check_model(root: Path) -> None:
    """Refuse, or warn of, what the folder says of the model as a whole."""
    path = root / "config_sentence_transformers.json"
    values = _read(path, _MODEL_FIELDS) if path.is_file() else {}
    prompt = (values.get("prompts") or {}).get(values.get("default_prompt_name"))
    if prompt:
        warnings.warn(
            f"{path} names a prompt that belongs before every text. Put it there yourself: "
            f"{prompt!r}",
            stacklevel=caller_depth(),
        )


def _read_encoder_settings(encoder: Path) -> tuple[int | None, bool]:
    """How many tokens of a text count, and whether it is lowercased."""
    # Before version 1.1, the name held the family's.
    path = next(iter(sorted(encoder.glob("sentence_*_config.json"))), None)
    values = {} if path is None else _read(path, _ENCODER_FIELDS)
    length = values.get("max_seq_length")
    tokenizer = encoder / "tokenizer_config.json"
    if length is None and tokenizer.is_file():
        length = read_json(tokenizer).get("model_max_length")
    return length, bool(values.get("do_lower_case"))


def _read_pooling(path: Path) -> str:
    values = _read(path, _POOLING_FIELDS)
    flags = {**POOLING_FLAGS, **_OTHER_POOLING_FLAGS}
    modes = values.get("pooling_mode") or [m for flag, m in flags.items() if values.get(flag)]
    modes = [modes] if isinstance(modes, str) else modes or ["mean"]
    if len(modes) > 1 or modes[0] not in POOLING_FLAGS.values():
        raise CheckpointError(
            f"The pooling in {path} is not supported. Supported is one of "
            f"{sorted(POOLING_FLAGS.values())}. Received: {modes}"
        )
    return modes[0]


def _read_dense(path: Path) -> dict[str, Any]:
    values = _read(path, _DENSE_FIELDS)
    name = values.get("activation_function") or _their_activation("tanh")
    if name not in ACTIVATIONS or not isinstance(values.get("out_features"), int):
        raise CheckpointError(
            f"The dense layer in {path} is not supported. It must have `out_features` and one of "
            f"the activations {sorted(ACTIVATIONS)}. Received: {values}"
        )
    return {
        "projection_dim": values["out_features"],
        "projection_activation": ACTIVATIONS[name],
    }


def _their_activation(name: str) -> str:
    return next(theirs for theirs, ours in ACTIVATIONS.items() if ours == name)


def _write(path: Path, data: Any) -> None:
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
