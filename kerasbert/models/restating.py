"""The same computation under another configuration, for formats that cannot say the first."""

from __future__ import annotations

import keras
import numpy as np

from kerasbert.families import Family
from kerasbert.layers import Absolute, EncoderConfig
from kerasbert.layers.initializing import weights_to_be_loaded
from kerasbert.tuning.addition import check_plain

_POSITION_TABLE = "embeddings/position/embeddings"
_SEGMENT_TABLE = "embeddings/segment/embeddings"


def restated_for(model: keras.Model, family: Family) -> tuple[keras.Model, list[str]]:
    """A model whose encoder the family's Hugging Face layout can represent, if there is one.

    RoBERTa's layout numbers positions over the real tokens, from a row after the padding id's on,
    and has one segment; KerasHub's numbers them by index and has none. With padding on the right
    both are the same. And ELECTRA's layout has no pooler.

    Args:
        model: an `Encoder` or a task.
        family: the family whose layout is to be written.

    Returns:
        The model itself where the family can represent it already, or where nothing helps; else a
        new one with the same weights. And what differs, in words.
    """
    encoder = getattr(model, "backbone", model)
    if family.can_represent(encoder.config):
        return model, []
    check_plain(encoder, "Another family's layout")
    config, differences = _restated(encoder.config, family)
    if not family.can_represent(config):
        return model, []
    with weights_to_be_loaded():
        new = _with_encoder(model, type(encoder)(config, family=family.name))
    values = {v.path: keras.ops.convert_to_numpy(v.value) for v in model.weights}
    for variable in new.weights:
        variable.assign(_value(variable, values))
    return new, differences


def _restated(config: EncoderConfig, family: Family) -> tuple[EncoderConfig, list[str]]:
    theirs, differences = family.defaults, []
    if theirs.num_segments and not config.num_segments:
        config = config.replace(num_segments=1)
    if config.position == Absolute() and _counts_real_tokens(theirs):
        position = Absolute(config.pad_token_id + 1, counting="non_padding")
        config = config.replace(position=position)
        differences.append("positions count real tokens only: padding must be on the right")
    if config.pooler and not theirs.pooler:
        config = config.replace(pooler=None)
        differences.append("the pooler is left out")
    return config, differences


def _counts_real_tokens(config: EncoderConfig) -> bool:
    return isinstance(config.position, Absolute) and config.position.counting == "non_padding"


def _with_encoder(model: keras.Model, encoder: keras.Model) -> keras.Model:
    if not hasattr(model, "backbone"):
        return encoder
    arguments = model.get_config()
    del arguments["backbone"]
    return type(model)(encoder, **{**arguments, "preprocessor": model.preprocessor})


def _value(variable, values) -> np.ndarray:
    """The value of a variable of the new model: what the tables gain is zero."""
    value = values.get(variable.path)
    if variable.path == _POSITION_TABLE:
        rows_before = variable.shape[0] - value.shape[0]
        return np.pad(value, ((rows_before, 0), (0, 0)))
    if value is None and variable.path == _SEGMENT_TABLE:
        return np.zeros(variable.shape, "float32")
    return value
