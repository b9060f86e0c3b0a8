"""GLUE's nine tasks in small files of their own layouts, and in the real ones."""

import pytest

from kerasbert.data import LabelledTexts, glue_labels, read_glue, stream_glue

# A header (if the task's files have one), and rows with what they are read as.
HEADERS = {
    "cola": None,
    "sst2": "sentence\tlabel",
    "mrpc": "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String",
    "qqp": "id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate",
    "stsb": "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2"
    "\tsentence1\tsentence2\tscore",
    "mnli": "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse"
    "\tsentence1_parse\tsentence2_parse\tsentence1\tsentence2\tlabel1\tgold_label",
    "qnli": "index\tquestion\tsentence\tlabel",
    "rte": "index\tsentence1\tsentence2\tlabel",
    "wnli": "index\tsentence1\tsentence2\tlabel",
}
ROWS = {
    "cola": {
        "gj04\t1\t\tOur friends won't buy it.": ("Our friends won't buy it.", None, 1),
        'bc01\t0\t*\t"The more: we want.': ('"The more: we want.', None, 0),
    },
    "sst2": {
        "it 's a charming journey . \t1": ("it 's a charming journey . ", None, 1),
        "bleak\t0": ("bleak", None, 0),
    },
    "mrpc": {
        '1\t70\t73\tAmrozi called "the witness.\tHe said "it" was so.': (
            'Amrozi called "the witness.',
            'He said "it" was so.',
            1,
        ),
        '0\t8\t9\t"A\tB': ('"A', "B", 0),
    },
    "qqp": {
        '1\t3\t4\tHow is "life?\t"How is life\t1': ('How is "life?', '"How is life', 1),
        "2\t5\t6\tWhy?\t\t0": ("Why?", "", 0),
    },
    "stsb": {
        "0\tmain\tMSRvid\t2012\t0000\tnone\tnone\tA man.\tA woman.\t4.750": (
            "A man.",
            "A woman.",
            4.75,
        ),
        "1\tmain\tMSRvid\t2012\t0001\tnone\tnone\tA cat.\tA car.\t0": ("A cat.", "A car.", 0.0),
    },
    "mnli": {
        "0\t1\t1n\tgov\t( a )\t( b )\t(R a)\t(R b)\tIt rains.\tIt is dry.\tneutral\tneutral": (
            "It rains.",
            "It is dry.",
            "neutral",
        ),
        "1\t2\t2c\tgov\t\t\t\t\tA.\tB.\tneutral\tcontradiction": ("A.", "B.", "contradiction"),
    },
    "qnli": {
        "0\tWhen?\tIn 1066.\tentailment": ("When?", "In 1066.", "entailment"),
        "1\tWho?\tIt was red.\tnot_entailment": ("Who?", "It was red.", "not_entailment"),
    },
    "rte": {
        "0\tIt rained.\tIt was wet.\tentailment": ("It rained.", "It was wet.", "entailment"),
        "1\tA.\tB.\tnot_entailment": ("A.", "B.", "not_entailment"),
    },
    "wnli": {
        "0\tI put it in.\tIt is in.\t1": ("I put it in.", "It is in.", 1),
        "1\tA.\tB.\t0": ("A.", "B.", 0),
    },
}
TASKS = list(ROWS)
NEWLINES = {"Unix": "\n", "Windows": "\r\n"}


def file_of(task, rows, newline="\n"):
    lines = [HEADERS[task]] if HEADERS[task] else []
    return newline.join([*lines, *rows, ""])


@pytest.mark.parametrize("newline", NEWLINES)
@pytest.mark.parametrize("task", TASKS)
def test_each_task_is_read_from_its_own_layout(write, task, newline):
    path = write(file_of(task, ROWS[task], NEWLINES[newline]))
    texts, pairs, labels = (list(column) for column in zip(*ROWS[task].values(), strict=True))
    pairs = None if pairs == [None, None] else pairs
    data = read_glue(task, path)
    assert data == LabelledTexts(texts, labels, pairs)
    assert [type(label) for label in data.targets()] == [type(label) for label in labels]
    assert data.inputs() == (texts if pairs is None else {"text": texts, "text_pair": pairs})


@pytest.mark.parametrize("task", TASKS)
def test_a_stream_has_the_fields_of_the_task(write, task):
    stream = stream_glue(task, write(file_of(task, ROWS[task])))
    for _ in range(2):
        for example, (text, pair, label) in zip(stream, ROWS[task].values(), strict=True):
            expected = {"text": text, "text_pair": pair, "label": label}
            assert example == {key: value for key, value in expected.items() if value is not None}


@pytest.mark.parametrize(
    ("task", "content", "example"),
    [
        ("cola", "index\tsentence\n0\tBill whistled.\n", {"text": "Bill whistled."}),
        ("mrpc", "index\t#1 ID\t#2 ID\t#1 String\t#2 String\n0\t1\t2\tA\tB\n", ("A", "B")),
        ("qnli", "index\tquestion\tsentence\n0\tA\tB\n", ("A", "B")),
    ],
)
def test_test_files_have_no_labels(write, task, content, example):
    path = write(content)
    if isinstance(example, tuple):
        example = dict(zip(("text", "text_pair"), example, strict=True))
    assert list(stream_glue(task, path, labelled=False)) == [example]
    assert read_glue(task, path, labelled=False).targets() is None
    if task != "cola":
        with pytest.raises(ValueError, match="labelled=False"):
            read_glue(task, path)


@pytest.mark.parametrize("task", TASKS)
def test_each_task_has_names_for_its_labels(task):
    names = glue_labels(task)
    labels = [label for *_, label in ROWS[task].values()]
    if task == "stsb":
        assert names is None
    else:
        known = range(len(names)) if isinstance(labels[0], int) else names
        assert set(labels) <= set(known)


@pytest.mark.parametrize(
    ("task", "content", "message"),
    [
        ("cola", "", "empty"),
        ("sst2", "", "empty"),
        ("sst2", "sentence\tlabel\n\n", "no rows"),
        ("sst2", "text\tlabel\na\t1\n", r"no column 'sentence'.*tabs.*\['text', 'label'\].*GLUE's"),
        ("sst2", "sentence,label\na,1\n", r"\['sentence,label'\]"),
        ("sst2", "sentence\tlabel\nfine\t1\n\nbroken\n", "Line 4 has 1 fields.*2 columns.*skip"),
        ("sst2", "sentence\tlabel\na\tb\t1\n", "Line 2 has 3 fields"),
        ("sst2", "sentence\tlabel\na\t2\n", r"Line 2 has the label '2'.*\['0', '1'\]"),
        ("sst2", "sentence\tlabel\na\t\n", "Line 2 has the label ''"),
        ("cola", "gj04\t1\t\ta\ngj04\tyes\t\tb\n", "Line 2 has the label 'yes'"),
        ("rte", HEADERS["rte"] + "\n0\ta\tb\tneutral\n", r"'neutral'.*\['entailment', 'not_"),
        ("mnli", HEADERS["mnli"] + "\n" + "x\t" * 11 + "-\n", "Line 2 has the label '-'"),
        ("stsb", HEADERS["stsb"] + "\n" + "x\t" * 9 + "5.1\n", "a number from 0 to 5"),
        ("stsb", HEADERS["stsb"] + "\n" + "x\t" * 9 + "nan\n", "'nan'"),
        ("stsb", HEADERS["stsb"] + "\n" + "x\t" * 9 + "high\n", "'high'"),
        (
            "qqp",
            b"id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate\n1\tc\xe9",
            "Line 2 is not UTF-8",
        ),
    ],
)
def test_bad_files_are_one_clear_error_that_names_file_and_line(write, task, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=message) as error:
        read_glue(task, path)
    assert str(path) in str(error.value)


def test_malformed_rows_can_be_left_out_but_not_in_silence(write):
    path = write("sentence\tlabel\na\t1\nbroken\nb\t0\nc\t7\n")
    with pytest.warns(UserWarning, match=r"left out: 2\. The first: Line 3 has 1 fields"):
        data = read_glue("sst2", path, on_malformed="skip")
    assert data == LabelledTexts(["a", "b"], [1, 0])


def test_a_file_of_malformed_rows_alone_is_an_error(write):
    path = write("sentence\tlabel\nbroken\n")
    with pytest.warns(UserWarning, match="left out"), pytest.raises(ValueError, match="no rows"):
        read_glue("sst2", path, on_malformed="skip")


def test_unknown_tasks_and_options_are_refused(write):
    path = write("sentence\tlabel\na\t1\n")
    for function in (read_glue, stream_glue):
        with pytest.raises(ValueError, match=r"'cola'.*task='sst'"):
            function("sst", path)
        with pytest.raises(ValueError, match="on_malformed='ignore'"):
            function("sst2", path, on_malformed="ignore")
        with pytest.raises(FileNotFoundError, match="absent"):
            function("sst2", path.with_name("absent.tsv"))
    with pytest.raises(ValueError, match="task='sst'"):
        glue_labels("sst")


@pytest.mark.real_data
@pytest.mark.parametrize(("split", "rows", "positive"), [("train", 38813, None), ("dev", 872, 444)])
def test_the_files_of_sst2_are_read(data_folder, split, rows, positive):
    """Numbers of rows are those of the data's source; the dev set's positives are well known."""
    data = read_glue("sst2", data_folder / "sst2" / f"{split}.tsv")
    assert len(data) == len(data.labels) == rows
    assert positive in (None, sum(data.labels))


@pytest.mark.real_data
@pytest.mark.parametrize(("split", "rows"), [("train", 5749), ("dev", 1500)])
def test_the_files_of_stsb_are_read(data_folder, split, rows):
    data = read_glue("stsb", data_folder / "stsb" / f"{split}.tsv")
    assert len(data) == len(data.text_pairs) == rows
    assert (min(data.labels), max(data.labels)) == (0, 5)
