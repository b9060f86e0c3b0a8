"""Reading and editing ``.tflite`` files: their operators, tensor names and metadata entries.

A ``.tflite`` file is a FlatBuffer whose root table is ``Model`` (TensorFlow's and LiteRT's
``schema.fbs``). Reading goes through the generated classes of ``ai_edge_litert``. Editing never
packs the model again: that would copy hundreds of megabytes through Python objects and lose the
16-byte alignment of the weights.
"""

from __future__ import annotations

import struct
from collections import Counter

from kerasbert.export.requirements import require

# Slots of the tables that are written here, from schema.fbs.
_MODEL_VERSION, _MODEL_BUFFERS, _MODEL_METADATA = 0, 4, 6
_METADATA_NAME, _METADATA_BUFFER = 0, 1
_BUFFER_DATA = 0
_TENSOR_NAME = 3

_FILE_IDENTIFIER = b"TFL3"
_WEIGHT_ALIGNMENT = 16


def count_operators(model: bytes) -> dict[str, int]:
    """Counts the operators of a ``.tflite`` file.

    Args:
        model: The file's bytes.

    Returns:
        Operator name to number of uses, by name. Built-in operators have their schema name
        (``FULLY_CONNECTED``); all others read ``CUSTOM:<name>`` (``CUSTOM:FlexErf``).
    """
    schema = require("ai_edge_litert.schema_py_generated")
    names = {
        code: name
        for name, code in vars(schema.BuiltinOperator).items()
        if not name.startswith("_")
    }
    root = schema.Model.GetRootAs(model, 0)

    def name_of(index: int) -> str:
        entry = root.OperatorCodes(index)
        # Codes over 127 only fit the newer field, and old converters only write the older one.
        code = max(entry.DeprecatedBuiltinCode(), entry.BuiltinCode())
        name = names.get(code, f"BUILTIN_{code}")
        return f"CUSTOM:{entry.CustomCode().decode()}" if name == "CUSTOM" else name

    counts = Counter(
        name_of(graph.Operators(i).OpcodeIndex())
        for graph in map(root.Subgraphs, range(root.SubgraphsLength()))
        for i in range(graph.OperatorsLength())
    )
    return dict(sorted(counts.items()))


def input_names(model: bytes) -> list[str]:
    """Lists the signature's input names in the order of the file's input tensors.

    The two orders differ: signatures are sorted by name, tensors are in the converter's order, and
    metadata describes inputs in tensor order.

    Args:
        model: The bytes of a file with one signature.

    Returns:
        The names, for example ``["segment_ids", "padding_mask", "token_ids"]``.
    """
    root = require("ai_edge_litert.schema_py_generated").Model.GetRootAs(model, 0)
    signature = root.SignatureDefs(0)
    inputs = map(signature.Inputs, range(signature.InputsLength()))
    names = {entry.TensorIndex(): entry.Name().decode() for entry in inputs}
    return [names[index] for index in root.Subgraphs(0).InputsAsNumpy().tolist()]


def name_tensors_by_signature(model: bytearray) -> None:
    """Gives input and output tensors the names that the signature has for them, in place.

    The converter calls them ``serving_default_token_ids:0`` and ``StatefulPartitionedCall_1:0``;
    runtimes without signatures show those. Shorter names overwrite the longer ones where they are.

    Args:
        model: The bytes of a file with one signature, changed in place.
    """
    root = require("ai_edge_litert.schema_py_generated").Model.GetRootAs(model, 0)
    signature, graph = root.SignatureDefs(0), root.Subgraphs(0)
    inputs = map(signature.Inputs, range(signature.InputsLength()))
    outputs = map(signature.Outputs, range(signature.OutputsLength()))
    for entry in (*inputs, *outputs):
        table = graph.Tensors(entry.TensorIndex())._tab
        field = table.Offset(4 + 2 * _TENSOR_NAME)
        position = table.Indirect(table.Pos + field)
        (room,) = struct.unpack_from("<I", model, position)
        name = entry.Name()
        if len(name) <= room:
            struct.pack_into(f"<I{room}s", model, position, len(name), name)


def metadata_prefix(model: bytes, name: str, data: bytes) -> bytes:
    """Makes the bytes that, put in front of a ``.tflite`` file, add a named metadata buffer to it.

    Offsets in a FlatBuffer are relative and point forward, so a new root in front of the old file
    can refer to everything in it: the old bytes follow unchanged, moved by a multiple of 16.

    Args:
        model: The file's bytes.
        name: Name of the entry, for example ``"TFLITE_METADATA"``.
        data: The entry's content.

    Returns:
        A new root: ``metadata_prefix(...) + model`` is the new file.
    """
    flatbuffers = require("flatbuffers")
    builder = flatbuffers.Builder(1024)
    # The old file starts where the builder's own bytes end: its byte p has the builder offset -p.
    builder.Prep(_WEIGHT_ALIGNMENT, 0)
    fields = _root_fields(model)
    content = builder.CreateByteVector(data)
    buffer = _table(builder, {_BUFFER_DATA: content})
    buffers = _table_positions(model, fields[_MODEL_BUFFERS])
    entry_name = builder.CreateString(name)
    builder.StartObject(2)
    builder.PrependUOffsetTRelativeSlot(_METADATA_NAME, entry_name, 0)
    builder.PrependUint32Slot(_METADATA_BUFFER, len(buffers), 0)
    entry = builder.EndObject()
    entries = _table_positions(model, fields[_MODEL_METADATA]) if _MODEL_METADATA in fields else []

    offsets = {slot: -position for slot, position in fields.items() if slot != _MODEL_VERSION}
    offsets[_MODEL_BUFFERS] = _vector(builder, [*(-p for p in buffers), buffer])
    offsets[_MODEL_METADATA] = _vector(builder, [*(-p for p in entries), entry])
    builder.Finish(
        _table(builder, offsets, version=fields[_MODEL_VERSION]), file_identifier=_FILE_IDENTIFIER
    )
    return bytes(builder.Output())


def _root_fields(model: bytes) -> dict[int, int]:
    """Slot to position of the field's target; the version's slot to its value."""
    (root,) = struct.unpack_from("<I", model, 0)
    (to_vtable,) = struct.unpack_from("<i", model, root)
    vtable = root - to_vtable
    (vtable_bytes,) = struct.unpack_from("<H", model, vtable)
    fields = {}
    for slot in range((vtable_bytes - 4) // 2):
        (offset,) = struct.unpack_from("<H", model, vtable + 4 + 2 * slot)
        if offset:
            (value,) = struct.unpack_from("<I", model, root + offset)
            fields[slot] = value if slot == _MODEL_VERSION else root + offset + value
    return fields


def _table_positions(model: bytes, vector: int) -> list[int]:
    """Positions of the tables in a vector of tables."""
    (length,) = struct.unpack_from("<I", model, vector)
    slots = range(vector + 4, vector + 4 + 4 * length, 4)
    return [slot + struct.unpack_from("<I", model, slot)[0] for slot in slots]


def _table(builder, offsets: dict[int, int], version: int = 0) -> int:
    builder.StartObject(max(offsets) + 1)
    for slot, offset in offsets.items():
        builder.PrependUOffsetTRelativeSlot(slot, offset, 0)
    builder.PrependUint32Slot(_MODEL_VERSION, version, 0)
    return builder.EndObject()


def _vector(builder, offsets: list[int]) -> int:
    builder.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        builder.PrependUOffsetTRelative(offset)
    return builder.EndVector()
