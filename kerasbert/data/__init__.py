"""Readers of labelled data, at once or as a stream, and the small data set of the package."""

from kerasbert.data.conll import TaggedSentences, read_conll, stream_conll
from kerasbert.data.csv_data import load_sample, read_csv, stream_csv
from kerasbert.data.glue import glue_labels, read_glue, stream_glue
from kerasbert.data.json_lines import read_json_lines, stream_json_lines
from kerasbert.data.labelled_texts import LabelledTexts
from kerasbert.data.multiple_choice import (
    MultipleChoiceQuestions,
    read_codah,
    read_swag,
    stream_codah,
    stream_swag,
)
from kerasbert.data.squad import SquadQuestions, read_squad, stream_squad
from kerasbert.data.streams import ExampleStream, shuffled

__all__ = [
    "ExampleStream",
    "LabelledTexts",
    "MultipleChoiceQuestions",
    "SquadQuestions",
    "TaggedSentences",
    "glue_labels",
    "load_sample",
    "read_codah",
    "read_conll",
    "read_csv",
    "read_glue",
    "read_json_lines",
    "read_squad",
    "read_swag",
    "shuffled",
    "stream_codah",
    "stream_conll",
    "stream_csv",
    "stream_glue",
    "stream_json_lines",
    "stream_squad",
    "stream_swag",
]
