import itertools
import json
import re
from collections import Counter

import pytest

from kerasbert.data import LabelledTexts, load_sample, read_csv, stream_csv


def test_texts_and_labels_are_read_in_order(write):
    data = read_csv(write("text,label\nwake me at six,alarm\nplay jazz,music\n"))
    assert data == LabelledTexts(["wake me at six", "play jazz"], ["alarm", "music"])
    assert data.inputs() == ["wake me at six", "play jazz"]
    assert len(data) == 2


def test_quoted_fields_hold_commas_quotes_and_line_breaks(write):
    data = read_csv(write('label,text\r\nnote,"say ""hi"",\nthen stop"\r\n'))
    assert data.texts == ['say "hi",\nthen stop']


def test_pairs_are_used_if_their_column_is_there(write):
    data = read_csv(write("text,text_pair,label\na,b,yes\nc,,no\n"))
    assert data.inputs() == {"text": ["a", "c"], "text_pair": ["b", ""]}
    other = read_csv(write("text,second,label\na,b,yes\n"), pair_column="second")
    assert other.text_pairs == ["b"]


def test_other_column_names_can_be_given(write):
    path = write("id,query,category\n7,where is my card,card_arrival\n")
    data = read_csv(path, text_column="query", label_column="category")
    assert data == LabelledTexts(["where is my card"], ["card_arrival"])


def test_byte_order_mark_blank_lines_and_spaces_around_labels_do_not_matter(write):
    data = read_csv(write(b"\xef\xbb\xbftext, label\n\nna\xc3\xafve , yes \n\n"))
    assert data == LabelledTexts(["naïve "], ["yes"])


def test_an_empty_text_is_legal(write):
    assert read_csv(write("text,label\n,silence\n")).texts == [""]


def test_a_stream_gives_the_same_examples_at_each_pass(write):
    stream = stream_csv(write("text,text_pair,label\na,b,yes\nc,,no\n"))
    expected = [
        {"text": "a", "text_pair": "b", "label": "yes"},
        {"text": "c", "text_pair": "", "label": "no"},
    ]
    assert list(stream) == list(stream) == expected


def test_a_missing_file_is_named(tmp_path):
    for read in (read_csv, stream_csv):
        with pytest.raises(FileNotFoundError, match="absent"):
            read(tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("text,label\n", "no rows"),
        ("query,label\na,b\n", r"no column 'text'.*\['query', 'label'\].*--text-column"),
        ("text,category\na,b\n", r"no column 'label'.*\['text', 'category'\].*--label-column"),
        ("text;label\na;b\n", r"commas.*\['text;label'\]"),
        ("text,text,label\na,b,c\n", "more than one column 'text'"),
        ("text,label,text_pair,text_pair\na,b,c,d\n", "more than one.*'text_pair'.*--pair-column"),
        ("text,label\na,b\nonly\n", "Line 3 has 1 fields, the table has 2 columns"),
        ("text,label\nwake me, please,b\n", "Line 2 has 3 fields.*quotes"),
        ('text,label\n"a\nb",c\nd, \n', "Line 4 has no label"),
        ('text,label\na,b\n"never closed,c\nd,e\n', "Line 3 starts a row that is not valid CSV"),
        (b"text,label\ncaf\xe9,b\n", "Line 2 is not UTF-8 after 'caf'"),
        ("text,label\na,b\n".encode("utf-16"), "Line 1 is not UTF-8 after ''"),
    ],
)
def test_bad_files_are_one_clear_error_that_names_file_and_place(write, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=message) as error:
        read_csv(path)
    assert str(path) in str(error.value)


@pytest.mark.real_data
def test_the_files_of_banking77_are_read(data_folder):
    categories = set(json.loads((data_folder / "banking77" / "categories.json").read_text()))
    sizes = {"train": 10003, "test": 3080}
    for split, size in sizes.items():
        data = read_csv(data_folder / "banking77" / f"{split}.csv", label_column="category")
        assert len(data) == size
        assert set(data.labels) == categories


def words(text):
    return re.findall(r"\w+", text.lower())


@pytest.fixture(scope="module")
def sample():
    return {split: load_sample(split) for split in ("train", "test")}


def test_the_sample_has_enough_intents_with_enough_texts_each(sample):
    counts = Counter(sample["train"].labels + sample["test"].labels)
    assert len(counts) >= 12
    assert min(counts.values()) >= 60


def test_both_parts_of_the_sample_have_all_intents(sample):
    assert set(sample["train"].labels) == set(sample["test"].labels)


def test_no_two_texts_of_the_sample_are_nearly_the_same(sample):
    texts = sample["train"].texts + sample["test"].texts
    normalized = Counter(" ".join(words(text)) for text in texts)
    assert normalized.most_common(1)[0][1] == 1
    sets = [(frozenset(words(text)), text) for text in texts]
    near = [
        (text, other)
        for (a, text), (b, other) in itertools.combinations(sets, 2)
        if len(a & b) >= 0.8 * len(a | b)
    ]
    assert near == []


def test_an_unknown_part_of_the_sample_is_refused():
    with pytest.raises(ValueError, match="split='validation'"):
        load_sample("validation")
