import zipfile

import pytest
from ai_edge_litert import schema_py_generated as schema
from mediapipe.tasks.metadata import metadata_schema_py_generated as metadata_schema

from kerasbert.export import read_associated_files
from kerasbert.export.metadata import write_with_metadata

INPUTS = ["segment_ids", "token_ids", "padding_mask"]
FILES = {"vocab.txt": "[PAD]\n[UNK]\né\n", "labels.txt": "no\nyes\n"}


@pytest.fixture
def written(model, tmp_path):
    path = tmp_path / "model.tflite"
    write_with_metadata(path, model, INPUTS, "probabilities", FILES, "answers")
    return path


def metadata_of(path):
    """Read with the classes that MediaPipe generates from the schema."""
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    (entry,) = [entry for entry in model.metadata if entry.name == b"TFLITE_METADATA"]
    content = bytes(model.buffers[entry.buffer].data)
    assert metadata_schema.ModelMetadata.ModelMetadataBufferHasIdentifier(content, 0)
    return metadata_schema.ModelMetadataT.InitFromPackedBuf(content)


def test_inputs_are_named_as_bert_runtimes_expect_in_tensor_order(written):
    metadata = metadata_of(written)
    (graph,) = metadata.subgraphMetadata
    assert metadata.name == b"answers"
    assert metadata.minParserVersion == b"1.1.0"
    assert [t.name for t in graph.inputTensorMetadata] == [b"segment_ids", b"ids", b"mask"]


def test_vocabulary_belongs_to_a_bert_tokenizer(written):
    (graph,) = metadata_of(written).subgraphMetadata
    (unit,) = graph.inputProcessUnits
    assert unit.optionsType == metadata_schema.ProcessUnitOptions.BertTokenizerOptions
    (vocabulary,) = unit.options.vocabFile
    assert vocabulary.name == b"vocab.txt"
    assert vocabulary.type == metadata_schema.AssociatedFileType.VOCABULARY


def test_labels_belong_to_the_output(written):
    (graph,) = metadata_of(written).subgraphMetadata
    (output,) = graph.outputTensorMetadata
    (labels,) = output.associatedFiles
    assert output.name == b"probability"
    assert labels.name == b"labels.txt"
    assert labels.type == metadata_schema.AssociatedFileType.TENSOR_AXIS_LABELS


def test_other_tokenizers_get_no_bert_tokenizer(model, tmp_path):
    path = tmp_path / "model.tflite"
    files = {"tokenizer.json": "{}"}
    write_with_metadata(path, model, ["token_ids", "padding_mask"], "logits", files, "answers")
    (graph,) = metadata_of(path).subgraphMetadata
    assert graph.inputProcessUnits is None
    assert [t.name for t in graph.inputTensorMetadata] == [b"ids", b"mask"]
    assert [file.name for file in graph.associatedFiles] == [b"tokenizer.json"]
    assert graph.outputTensorMetadata[0].associatedFiles is None


def test_files_are_read_back(written):
    assert read_associated_files(written) == FILES


def test_files_are_stored_uncompressed_for_readers_that_map_them(written):
    with zipfile.ZipFile(written) as archive:
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}


def test_same_model_gives_same_bytes(model, written, tmp_path):
    again = tmp_path / "again.tflite"
    write_with_metadata(again, model, INPUTS, "probabilities", FILES, "answers")
    assert again.read_bytes() == written.read_bytes()


def test_a_file_without_an_archive_has_no_files(tmp_path):
    path = tmp_path / "plain.tflite"
    path.write_bytes(b"no archive in here")
    assert read_associated_files(path) == {}


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tflite"):
        read_associated_files(tmp_path / "nowhere.tflite")
