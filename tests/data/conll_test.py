"""Tagged sentences in columns, small files and real ones."""

import pytest

from kerasbert.data import TaggedSentences, read_conll, stream_conll
from kerasbert.metrics import entities_in

CONLL_2003 = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O

Peter NNP B-NP B-PER
Blackburn NNP I-NP I-PER
"""
SENTENCES = TaggedSentences(
    [["EU", "rejects"], ["Peter", "Blackburn"]], [["B-ORG", "O"], ["B-PER", "I-PER"]]
)


@pytest.mark.parametrize(
    "content",
    [
        CONLL_2003,
        CONLL_2003.replace(" ", "\t"),
        CONLL_2003.replace("\n", "\r\n"),
        CONLL_2003.replace("\n\n", "\n \t \n\n\n"),  # blank lines with spaces, and several
        CONLL_2003.replace(" ", "  "),
        CONLL_2003.replace(" -X- -X- O", "").rstrip(),
        "\ufeff" + CONLL_2003.replace("O\n", "O \t\n"),
        CONLL_2003.replace("\n\nPeter", "\n-DOCSTART-\nPeter"),
    ],
)
def test_layouts_that_people_have_are_read_alike(write, content):
    assert read_conll(write(content)) == SENTENCES


def test_columns_are_chosen_by_index(write):
    data = read_conll(write(CONLL_2003), columns=(0, 1))
    assert data.targets() == [["NNP", "VBZ"], ["NNP", "NNP"]]
    assert read_conll(write(CONLL_2003), columns=(-4, 2)).targets()[0] == ["B-NP", "B-VP"]


def test_words_between_tabs_may_have_spaces_in_them(write):
    assert read_conll(write("10 000\tNUM\n%\tSYM\n")).inputs() == [["10 000", "%"]]


def test_labels_are_sorted_with_outside_first(write):
    data = read_conll(write("a I-X\nb O\nc B-Y\nd B-X\n"))
    assert data.labels() == ["O", "B-X", "B-Y", "I-X"]
    assert read_conll(write("a VERB\nb ADJ\n")).labels() == ["ADJ", "VERB"]


def test_a_stream_has_the_fields_of_the_task(write):
    stream = stream_conll(write(CONLL_2003))
    expected = [
        {"tokens": words, "label": tags}
        for words, tags in zip(SENTENCES.inputs(), SENTENCES.targets(), strict=True)
    ]
    assert list(stream) == list(stream) == expected


@pytest.mark.parametrize("scheme", [None, "iob1", "iob2"])
def test_tags_of_the_scheme_are_taken(write, scheme):
    assert read_conll(write(CONLL_2003), scheme=scheme) == SENTENCES


@pytest.mark.parametrize(
    ("scheme", "tags", "message"),
    [
        ("iob2", ["O", "I-PER"], r"Line 3 begins the entity \['I-PER'\].*'iob2'"),
        ("iob2", ["B-LOC", "I-PER"], r"Line 3 begins the entity \['I-PER'\]"),
        ("iob2", ["B-LOC", "E-LOC"], "Line 3 has the tag 'E-LOC', which.*'iob2' does not know"),
        ("iob2", ["PER", "O"], "Line 2 has the tag 'PER'"),
        ("iobes", ["B-LOC", "I-LOC"], r"Line 2 begins the entity \['B-LOC', 'I-LOC'\]"),
        ("iobes", ["S-LOC", "E-LOC"], "Line 3 begins"),
        ("iob1", ["I-LOC", "S-LOC"], "Line 3 has the tag 'S-LOC'"),
    ],
)
def test_tags_that_the_scheme_does_not_allow_are_refused_if_it_is_asked_for(
    write, scheme, tags, message
):
    path = write("\n" + "".join(f"word {tag}\n" for tag in tags))
    assert read_conll(path).targets() == [tags]
    with pytest.raises(ValueError, match=message) as error:
        read_conll(path, scheme=scheme)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("\n\n", "empty"),
        ("-DOCSTART- -X- O O\n\n", "empty"),
        ("a O\n\nb\n", "Line 3 has 1 fields, the table has 2 columns"),
        ("a O\nb c O\n", "Line 2 has 3 fields"),
        ("a\tO\nb\t\n", "Line 2 has 1 fields"),
        ("a\nb\n", r"Line 1 has 1 columns, of which columns=\(0, -1\) are not two"),
        ("a\tO\n\tO\n", "Line 2 has an empty word"),
        ("a\t\tx\n", "Line 1 has an empty tag"),
        (b"a\tO\n\xe9\tO\n", "Line 2 is not UTF-8"),
    ],
)
def test_bad_files_are_one_clear_error_that_names_file_and_line(write, content, message):
    path = write(content)
    columns = (0, 1) if content == "a\t\tx\n" else (0, -1)
    with pytest.raises(ValueError, match=message) as error:
        read_conll(path, columns)
    assert str(path) in str(error.value)


def test_columns_and_schemes_that_are_none_are_refused(write):
    path = write(CONLL_2003)
    for columns in [(0,), (1, 1), ("0", "1"), (0, True)]:
        with pytest.raises(ValueError, match="two different ints"):
            read_conll(path, columns)
    with pytest.raises(ValueError, match=r"Line 3 has 4 columns, of which columns=\(0, 4\)"):
        read_conll(path, (0, 4))
    with pytest.raises(ValueError, match=r"columns=\(3, -1\) are not two"):
        read_conll(path, (3, -1))
    with pytest.raises(ValueError, match="scheme='bio'"):
        stream_conll(path, scheme="bio")
    with pytest.raises(FileNotFoundError, match="absent"):
        stream_conll(path.with_name("absent.conll"))


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "sentences", "tokens"),
    [
        ("wnut17/train.conll", 3394, 62730),
        ("wnut17/dev.conll", 1009, 15733),
        ("wnut17/test.conll", 1287, 23394),
        ("ud_ewt_pos/train.tsv", 12544, 204577),
        ("ud_ewt_pos/dev.tsv", 2001, 25147),
        ("ud_ewt_pos/test.tsv", 2077, 25094),
    ],
)
def test_real_files_have_the_sentences_and_words_that_their_sources_say(
    data_folder, name, sentences, tokens
):
    data = read_conll(data_folder / name, scheme="iob2" if "wnut17" in name else None)
    assert (len(data), sum(map(len, data.words))) == (sentences, tokens)
    kinds = {"person", "location", "group", "creative-work", "corporation", "product"}
    if "wnut17" in name:
        assert {label for tags in data.tags for label, *_ in entities_in(tags)} == kinds
    else:
        assert len(data.labels()) == 17  # the universal parts of speech
