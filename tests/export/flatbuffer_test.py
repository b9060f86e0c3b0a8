from ai_edge_litert import schema_py_generated as schema

from kerasbert.export.flatbuffer import (
    count_operators,
    input_names,
    metadata_prefix,
    name_tensors_by_signature,
)


def test_operators_are_counted_and_foreign_ones_are_told_apart(model):
    assert count_operators(model) == {"ADD": 2, "CUSTOM:FlexErf": 1}


def test_input_names_come_in_the_order_of_the_input_tensors(model):
    assert input_names(model) == ["padding_mask", "token_ids"]


def test_tensors_get_the_names_of_the_signature(model):
    name_tensors_by_signature(model)
    unpacked = schema.ModelT.InitFromPackedBuf(model)
    assert [t.name for t in unpacked.subgraphs[0].tensors] == [
        b"token_ids",
        b"padding_mask",
        b"logits",
    ]


def test_metadata_is_added_and_everything_else_stays(model):
    prefix = metadata_prefix(model, "TFLITE_METADATA", b"some metadata")
    before = schema.ModelT.InitFromPackedBuf(model)
    after = schema.ModelT.InitFromPackedBuf(prefix + model)

    assert (prefix + model)[4:8] == b"TFL3"
    assert [entry.name for entry in after.metadata] == [b"min_runtime_version", b"TFLITE_METADATA"]
    assert bytes(after.buffers[after.metadata[1].buffer].data) == b"some metadata"
    assert [bytes(b.data) for b in after.buffers[1:3]] == [bytes(range(64)), bytes(48)]
    assert after.metadata[0].buffer == 2
    assert after.version == 3
    assert input_names(prefix + model) == input_names(model)
    assert count_operators(prefix + model) == count_operators(model)
    assert len(after.signatureDefs) == len(before.signatureDefs) == 1


def test_metadata_moves_the_weights_by_whole_alignment_units(model):
    for size in range(1, 40):
        assert len(metadata_prefix(model, "TFLITE_METADATA", bytes(size))) % 16 == 0
