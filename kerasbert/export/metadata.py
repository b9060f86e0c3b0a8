"""TFLite metadata: what a runtime needs to feed text to a file and to name what comes out.

The metadata is a FlatBuffer of its own (``metadata_schema.fbs``, version 1.5.0, of TensorFlow Lite
Support and MediaPipe), stored in the model under ``TFLITE_METADATA``. Vocabulary and labels follow
as an uncompressed ZIP archive at the end of the file, so that any ZIP reader opens a ``.tflite``.

MediaPipe's ``TextClassifier`` loads a file with the three inputs of BERT and a vocabulary of
WordPiece. It lower-cases ASCII and keeps accents, so cased vocabularies and accented text get other
ids there than here. With other tokenizers the metadata names the tensors, and the archive serves
the application.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass
from pathlib import Path

from kerasbert.export.flatbuffer import metadata_prefix
from kerasbert.export.requirements import require

VOCABULARY_FILE = "vocab.txt"
LABELS_FILE = "labels.txt"
TOKENIZER_FILE = "tokenizer.json"

# BertTokenizerOptions came with version 1.1.0 of the schema, which every reader of today knows.
_MIN_PARSER_VERSION = "1.1.0"
_FILE_IDENTIFIER = b"M001"
_METADATA_NAME = "TFLITE_METADATA"

# Field names of the schema's tables in its order, which is the order of slots. A union takes two.
_TABLES = {
    "ModelMetadata": (
        "name",
        "description",
        "version",
        "subgraph_metadata",
        "author",
        "license",
        "associated_files",
        "min_parser_version",
    ),
    "SubGraphMetadata": (
        "name",
        "description",
        "input_tensor_metadata",
        "output_tensor_metadata",
        "associated_files",
        "input_process_units",
    ),
    "TensorMetadata": (
        "name",
        "description",
        "dimension_names",
        "content",
        "process_units",
        "stats",
        "associated_files",
    ),
    "Content": ("content_properties_type", "content_properties"),
    "FeatureProperties": (),
    "ProcessUnit": ("options_type", "options"),
    "BertTokenizerOptions": ("vocab_file",),
    "AssociatedFile": ("name", "description", "type"),
}
_FEATURE_PROPERTIES = 1  # union ContentProperties
_BERT_TOKENIZER_OPTIONS = 4  # union ProcessUnitOptions
_DESCRIPTIONS, _TENSOR_AXIS_LABELS, _VOCABULARY = 1, 2, 5  # enum AssociatedFileType

# What MediaPipe and the Task Library call BERT's inputs.
_INPUTS = {
    "token_ids": ("ids", "Token ids of the text, padded to the length of the tensor."),
    "segment_ids": (
        "segment_ids",
        "0 for the first text of a pair and for padding, 1 for the second.",
    ),
    "padding_mask": ("mask", "1 for tokens, 0 for padding."),
}
# The Task Library crashes on any other name for the scores of a classifier.
_OUTPUTS = {
    "probabilities": ("probability", "Probability of each label."),
    "logits": ("logits", "Score of each label before the softmax."),
}


@dataclass(frozen=True)
class _Table:
    name: str
    fields: dict[str, object]


def write_with_metadata(
    path, model: bytes, inputs: list[str], output: str, files: dict[str, str], name: str
) -> None:
    """Writes a model with metadata and the files that the metadata refers to.

    Args:
        path: The file to write.
        model: The bytes of a ``.tflite`` file without metadata.
        inputs: Input names (``token_ids``, ``segment_ids``, ``padding_mask``) in tensor order.
        output: ``"probabilities"`` or ``"logits"``.
        files: File name to text: ``labels.txt`` with one label a line, and ``vocab.txt``
            (WordPiece, one token a line) or ``tokenizer.json``.
        name: The model's name.
    """
    metadata = _serialize(_model_metadata(inputs, output, files, name))
    with open(path, "wb") as file:
        file.write(metadata_prefix(model, _METADATA_NAME, metadata))
        file.write(model)
    # Stored, not deflated: readers on phones map the files into memory.
    with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
        for file_name, text in files.items():
            # ZipInfo's default date is fixed: the same model gives the same bytes.
            archive.writestr(zipfile.ZipInfo(file_name), text.encode("utf-8"))


def read_associated_files(path) -> dict[str, str]:
    """Reads the vocabulary, the labels and whatever else is packed into a ``.tflite`` file.

    Args:
        path: The file.

    Returns:
        File name to text, for example ``{"vocab.txt": "[PAD]\\n...", "labels.txt": "no\\n..."}``;
        empty when the file carries none.

    Raises:
        FileNotFoundError: There is no such file.

    Example:

    ```python
    labels = read_associated_files("intents.tflite")["labels.txt"].splitlines()
    ```
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no such file. Received: path={str(path)!r}")
    if not zipfile.is_zipfile(path):
        return {}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name).decode("utf-8") for name in archive.namelist()}


def _model_metadata(inputs, output, files, name) -> _Table:
    labels = [_file(LABELS_FILE, "Labels in the order of the output.", _TENSOR_AXIS_LABELS)]
    units, extra = [], []
    if VOCABULARY_FILE in files:
        vocabulary = _file(VOCABULARY_FILE, "Token of each id.", _VOCABULARY)
        options = _Table("BertTokenizerOptions", {"vocab_file": [vocabulary]})
        fields = {"options_type": _BERT_TOKENIZER_OPTIONS, "options": options}
        units = [_Table("ProcessUnit", fields)]
    if TOKENIZER_FILE in files:
        extra = [_file(TOKENIZER_FILE, "Tokenizer of Hugging Face `tokenizers`.", _DESCRIPTIONS)]
    graph = {
        "input_tensor_metadata": [_tensor(*_INPUTS[key]) for key in inputs],
        "output_tensor_metadata": [
            _tensor(*_OUTPUTS[output], files=labels if LABELS_FILE in files else [])
        ],
        "associated_files": extra,
        "input_process_units": units,
    }
    return _Table(
        "ModelMetadata",
        {
            "name": name,
            "subgraph_metadata": [_Table("SubGraphMetadata", graph)],
            "min_parser_version": _MIN_PARSER_VERSION,
        },
    )


def _file(name: str, description: str, kind: int) -> _Table:
    return _Table("AssociatedFile", {"name": name, "description": description, "type": kind})


def _tensor(name: str, description: str, files=()) -> _Table:
    content = {
        "content_properties_type": _FEATURE_PROPERTIES,
        "content_properties": _Table("FeatureProperties", {}),
    }
    fields = {"name": name, "description": description, "content": _Table("Content", content)}
    return _Table("TensorMetadata", {**fields, "associated_files": list(files)})


def _serialize(root: _Table) -> bytes:
    builder = require("flatbuffers").Builder(1024)
    builder.Finish(_write(builder, root), file_identifier=_FILE_IDENTIFIER)
    return bytes(builder.Output())


def _write(builder, value) -> int:
    """Writes a string, a list or a table after everything it refers to. Returns its offset."""
    if isinstance(value, str):
        return builder.CreateString(value)
    if isinstance(value, list):
        offsets = [_write(builder, item) for item in value]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        return builder.EndVector()
    names = _TABLES[value.name]
    # An empty list is the absence of the field.
    fields = {key: field for key, field in value.fields.items() if field != []}
    offsets = {
        key: _write(builder, field) for key, field in fields.items() if not isinstance(field, int)
    }
    builder.StartObject(len(names))
    for key, field in fields.items():
        if key in offsets:
            builder.PrependUOffsetTRelativeSlot(names.index(key), offsets[key], 0)
        else:  # the schema's enums and union types are all one byte wide
            builder.PrependInt8Slot(names.index(key), field, 0)
    return builder.EndObject()
