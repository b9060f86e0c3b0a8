"""Reading the parts of a SentencePiece model file that a tokenizer needs.

The file is a protocol buffer (`sentencepiece_model.proto`, message `ModelProto`). Its few fields of
interest are read directly, so that loading one needs no further package.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

# Field numbers and enumeration values of `sentencepiece_model.proto`.
_PIECES, _TRAINER_SPEC, _NORMALIZER_SPEC = 1, 2, 3
_PIECE_TEXT, _PIECE_SCORE, _PIECE_TYPE = 1, 2, 3
_MODEL_TYPE = 3
_CHARACTER_MAP = 2
_UNIGRAM = 1
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4


@dataclass(frozen=True)
class SentencePieces:
    """A unigram model.

    Attributes:
        scores: Pieces with log probabilities, in the order of their ids.
        unknown_id: The id of the piece for unknown text.
        added_tokens: Control and user-defined symbols, as `tokenizer_config.json` has tokens.
        character_map: What normalizes characters; empty where nothing does.
    """

    scores: list[tuple[str, float]]
    unknown_id: int
    added_tokens: list[dict]
    character_map: bytes


def read_sentencepiece(content: bytes) -> SentencePieces:
    """Reads a unigram model.

    Args:
        content: The bytes of the file.

    Raises:
        ValueError: The bytes are not a SentencePiece file, or the model in it is not a unigram one.
    """
    scores, types, model_type, character_map = [], [], _UNIGRAM, None
    for number, value in _fields(content):
        if number == _PIECES:
            piece = dict(_fields(value))
            scores.append((piece[_PIECE_TEXT].decode("utf-8"), _float(piece.get(_PIECE_SCORE))))
            types.append(piece.get(_PIECE_TYPE, 1))
        elif number == _TRAINER_SPEC:
            model_type = dict(_fields(value)).get(_MODEL_TYPE, _UNIGRAM)
        elif number == _NORMALIZER_SPEC:
            character_map = dict(_fields(value)).get(_CHARACTER_MAP, b"")
    if character_map is None:  # It is in the last part.
        raise ValueError("it ends before its normalizer")
    if model_type != _UNIGRAM:
        raise ValueError("only unigram models are supported")
    if _UNKNOWN not in types:
        raise ValueError("it has no piece for unknown text")
    added = [
        {"content": text, "special": kind == _CONTROL, "normalized": False}
        for (text, _), kind in zip(scores, types, strict=True)
        if kind in (_CONTROL, _USER_DEFINED)
    ]
    return SentencePieces(scores, types.index(_UNKNOWN), added, character_map)


def _float(raw: bytes | None) -> float:
    return 0.0 if raw is None else struct.unpack("<f", raw)[0]


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer message: integers, or the bytes of anything else."""
    position = 0
    while position < len(message):
        key, position = _varint(message, position)
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            value, position = _varint(message, position)
        else:
            if wire_type == 2:
                size, position = _varint(message, position)
            else:
                size = {1: 8, 5: 4}[wire_type]
            value = message[position : position + size]
            position += size
            if position > len(message):
                raise ValueError("it ends in the middle of a field")
        yield number, value


def _varint(message: bytes, position: int) -> tuple[int, int]:
    result = shift = 0
    while True:
        byte = message[position]
        result |= (byte & 0x7F) << shift
        position += 1
        if byte < 0x80:
            return result, position
        shift += 7
