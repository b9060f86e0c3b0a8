"""SWAG's and CODAH's files, small ones and real ones."""

import pytest

from kerasbert.data import (
    MultipleChoiceQuestions,
    read_codah,
    read_swag,
    stream_codah,
    stream_swag,
)

SWAG = (
    ",video-id,fold-ind,startphrase,sent1,sent2,gold-source,ending0,ending1,ending2,ending3,label\n"
    '0,v1,34,"On stage, a woman takes a seat. She","On stage, a woman takes a seat.",She,gold,'
    '"sits, and smiles.",swims.,"says ""no"".",plays.,3\n'
    "1,v2,35,It rains.,It rains.,,gold,a,b,c,d,0\n"
)
CODAH = (
    'p\tI go to school. I\tthink "twice.\tstudy.\tsay "go" first.\t"sing.\t1\n'
    "\tThe dog\truns.\tflies.\treads.\twrites.\t0\n"
)


def test_swag_has_its_second_sentence_at_the_beginning_of_each_choice(write):
    data = read_swag(write(SWAG))
    assert data == MultipleChoiceQuestions(
        ["On stage, a woman takes a seat.", "It rains."],
        [
            ["She sits, and smiles.", "She swims.", 'She says "no".', "She plays."],
            ["a", "b", "c", "d"],
        ],
        [3, 0],
    )
    assert data.inputs() == {"text": data.texts, "choices": data.choices}
    assert (data.targets(), len(data)) == ([3, 0], 2)


@pytest.mark.parametrize(
    "header", ["", "category\tprompt\ta\tb\tc\td\tgold\n", "type\tq\t0\t1\t2\t3\tcorrect answer\n"]
)
def test_codah_is_read_with_and_without_a_header(write, header):
    data = read_codah(write(header + CODAH))
    assert data == MultipleChoiceQuestions(
        ["I go to school. I", "The dog"],
        [
            ['think "twice.', "study.", 'say "go" first.', '"sing.'],
            ["runs.", "flies.", "reads.", "writes."],
        ],
        [1, 0],
    )


def test_files_may_have_other_numbers_of_endings(write):
    assert read_codah(write("o\tIt\ta\tb\t1\n")).choices == [["a", "b"]]
    assert read_swag(write("sent1,sent2,ending0,ending1,ending2,label\nA,B,x,y,z,2\n")).choices == [
        ["B x", "B y", "B z"]
    ]


@pytest.mark.parametrize(
    ("read", "stream", "content"),
    [(read_swag, stream_swag, SWAG), (read_codah, stream_codah, CODAH)],
)
def test_a_stream_has_the_fields_of_the_task(write, read, stream, content):
    path = write(content)
    data = read(path)
    expected = [
        {"text": text, "choices": choices, "label": label}
        for text, choices, label in zip(data.texts, data.choices, data.labels, strict=True)
    ]
    examples = stream(path)
    assert list(examples) == list(examples) == expected
    with pytest.raises(FileNotFoundError, match="absent"):
        stream(path.with_name("absent.csv"))


HEADER = "sent1,sent2,ending0,ending1,label\n"


@pytest.mark.parametrize(
    ("read", "content", "message"),
    [
        (read_swag, "", "empty"),
        (read_swag, HEADER, "no rows"),
        (read_swag, "sent1,ending0,ending1,label\na,b,c,0\n", "no column 'sent2'.*SWAG's layout"),
        (read_swag, "sent1,sent2,ending0,label\na,b,c,0\n", "no column 'ending1'"),
        (read_swag, "sent1,sent2,ending0,ending2,label\na,b,c,d,0\n", "no column 'ending1'"),
        (read_swag, HEADER + "a,b,c,d,1\na,b,c,1\n", "Line 3 has 4 fields.*5 columns"),
        (read_swag, HEADER + "a,b,c,,0\n", "Line 2 has no ending 1.*as many endings"),
        (read_swag, HEADER + "a,b,c,d,2\n", "Line 2 has the label '2'.*from 0 to 1"),
        (read_swag, HEADER + 'a,b,"c,d,0\n', "Line 2 starts a row that is not valid CSV"),
        (read_codah, "", "empty"),
        (read_codah, "category\tprompt\ta\tb\tc\td\tgold\n", "empty"),
        (read_codah, "o,It,a,b,1\n", "Line 1 has 1 fields, not a category.*tabs"),
        (read_codah, CODAH + "o\tIt\ta\tb\tc\t1\n", "Line 3 has 6 fields, the table has 7"),
        (read_codah, CODAH + "o\tIt\ta\tb\tc\td\n", "Line 3 has 6 fields"),
        (read_codah, CODAH + "o\tIt\ta\t \tc\td\t1\n", "Line 3 has no ending 1"),
        (read_codah, CODAH + "o\tIt\ta\tb\tc\td\t4\n", "Line 3 has the label '4'.*0 to 3"),
        (read_codah, CODAH + "o\tIt\ta\tb\tc\td\t-1\n", "Line 3 has the label '-1'"),
        (read_codah, "o\tIt\ta\tb\tc\td\tfirst\n", "Line 1 has the label 'first'"),
        (read_codah, b"o\tIt\ta\tb\tc\td\t1\no\tI\xe9", "Line 2 is not UTF-8"),
    ],
)
def test_bad_files_are_one_clear_error_that_names_file_and_line(write, read, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=message) as error:
        read(path)
    assert str(path) in str(error.value)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("full_data.tsv", 2776),
        ("fold_0/train.tsv", 1665),
        ("fold_0/dev.tsv", 556),
        ("fold_0/test.tsv", 555),
    ],
)
def test_the_files_of_codah_are_read(data_folder, name, rows):
    data = read_codah(data_folder / "codah" / name)
    assert len(data) == rows
    assert {len(choices) for choices in data.choices} == {4}
    assert set(data.labels) == {0, 1, 2, 3}
