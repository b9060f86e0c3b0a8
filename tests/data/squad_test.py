"""SQuAD's JSON files, small ones and a real one."""

import copy
import json

import pytest

from kerasbert.data import read_squad, stream_squad
from kerasbert.data.json_documents import stream_array

CONTEXT = "The Normans 👑 ruled in Normandy."  # one character outside of the basic plane
VERSION_2 = {
    "version": "v2.0",
    "data": [
        {
            "title": "Normans",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {
                            "id": "q1",
                            "question": "Where?",
                            "answers": [
                                {"text": "Normandy", "answer_start": CONTEXT.index("Normandy")},
                                {"text": "in Normandy", "answer_start": CONTEXT.index("in Nor")},
                            ],
                            "is_impossible": False,
                        },
                        {
                            "id": "q2",
                            "question": "When?",
                            "answers": [],
                            "is_impossible": True,
                            "plausible_answers": [{"text": "ruled", "answer_start": 14}],
                        },
                    ],
                }
            ],
        },
        {"title": "Empty", "paragraphs": []},
        {
            "title": "Oxygen",
            "paragraphs": [
                {
                    "context": "It burns.",
                    "qas": [
                        {
                            "id": "q3",
                            "question": "What?",
                            "answers": [{"text": "It burns.", "answer_start": 0}],
                        }
                    ],
                }
            ],
        },
    ],
}


@pytest.fixture(params=[None, 2], ids=["one line", "indented"])
def path(write, request):
    return write(json.dumps(VERSION_2, ensure_ascii=False, indent=request.param))


def test_questions_are_read_with_all_answers(path):
    data = read_squad(path)
    assert data.ids == ["q1", "q2", "q3"]
    assert data.inputs() == {
        "question": ["Where?", "When?", "What?"],
        "context": [CONTEXT, CONTEXT, "It burns."],
    }
    assert data.titles == ["Normans", "Normans", "Oxygen"]
    assert data.answers[0][1] == {"text": "in Normandy", "start": CONTEXT.index("in Nor")}
    assert data.targets() == [data.answers[0][0], None, {"text": "It burns.", "start": 0}]
    assert data.references() == {"q1": ["Normandy", "in Normandy"], "q2": [], "q3": ["It burns."]}
    assert len(data) == 3


def test_files_of_version_1_have_the_version_last_and_no_mark_of_the_impossible(write):
    content = {"data": [VERSION_2["data"][2]], "version": 1.1}
    assert read_squad(write(json.dumps(content))).ids == ["q3"]


def test_a_stream_has_the_fields_of_the_task(path):
    stream = stream_squad(path)
    data = read_squad(path)
    for _ in range(2):
        assert list(stream) == [
            {"question": question, "context": context, "label": target}
            for question, context, target in zip(
                data.questions, data.contexts, data.targets(), strict=True
            )
        ]


def changed(*keys, value):
    """The file's content with one value in it changed, or taken away if `value` is `KeyError`."""
    content = copy.deepcopy(VERSION_2)
    holder = content
    for key in keys[:-1]:
        holder = holder[key]
    if value is KeyError:
        del holder[keys[-1]]
    else:
        holder[keys[-1]] = value
    return json.dumps(content)


PARAGRAPH = ("data", 0, "paragraphs", 0)
QUESTION = (*PARAGRAPH, "qas", 0)
ANSWER = (*QUESTION, "answers", 0)
IMPOSSIBLE = (*PARAGRAPH, "qas", 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (changed(*ANSWER, "answer_start", value=3), "'q1'.*answer 'Normandy', where.*' Normans'"),
        (changed(*ANSWER, "answer_start", value=-8), "'q1'.*received -8"),
        (changed(*ANSWER, "answer_start", value=999), "'q1'.*where its context has ''"),
        (
            changed(*ANSWER, "answer_start", value="24"),
            "'q1'.*'answer_start' of type int, but '24'",
        ),
        (changed(*ANSWER, "text", value=""), "'q1'.*answer ''"),
        (changed(*ANSWER, "text", value=KeyError), "'q1'.*no 'text' of type str"),
        (changed(*QUESTION, "answers", value=KeyError), "'q1'.*no 'answers' of type list"),
        (changed(*QUESTION, "question", value=None), "'q1'.*no 'question' of type str"),
        (changed(*QUESTION, "id", value=7), "article that has no 'id' of type str, but 7"),
        (changed(*PARAGRAPH, "context", value=KeyError), "article that has no 'context'"),
        (changed(*PARAGRAPH, "qas", value={}), "article that has no 'qas' of type list, but {}"),
        (changed("data", 0, value="Normans"), "article that has no 'paragraphs'"),
        (
            changed(*IMPOSSIBLE, "is_impossible", value=False),
            "'q2'.*0 answers.*`is_impossible` False",
        ),
        (
            changed(*QUESTION, "is_impossible", value=True),
            "'q1'.*2 answers.*`is_impossible` True",
        ),
        (changed(*QUESTION, "id", value="q3"), "same id.*id='q3'"),
        (changed("data", value=KeyError), "Line 1 .*without the field 'data'"),
        (changed("data", value={}), "Line 1 is not valid JSON.*'\\['.*not '{'"),
        (changed("data", value=[]), "empty"),
    ],
)
def test_bad_content_is_one_clear_error_that_names_file_and_question(write, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=message) as error:
        read_squad(path)
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "Line 1 is not valid JSON.*'{' must stand here, not the end of the file"),
        ('[{"data": []}]', "'{' must stand here, not '\\['"),
        ('{\n"data": [\n{"title": "a",,}]}', "Line 3 is not valid JSON"),
        ('{\n"data": [\n{"paragraphs": []}\n\n{}]}', "Line 5 .*',' or '\\]' must stand.*not '{'"),
        ('{"data": [{"paragraphs": []}', "Line 1 .*not the end of the file"),
        ('{"data": [{"paragraphs": [', "Line 1 is not valid JSON"),
        ('{"version" "2"}', "':' must stand here"),
        ('{"version": tru}', "Line 1 is not valid JSON"),
        (b'{"version":\n"caf\xe9"}', "Line 2 is not UTF-8 after '\"caf'"),
    ],
)
def test_what_is_not_json_is_one_clear_error_that_names_the_line(write, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=message) as error:
        read_squad(path)
    assert str(path) in str(error.value)


DOCUMENT = {
    "number": -12345.5e3,
    "nested": {"data": [1, "]", {"data": "{"}]},
    "data": [1, 23, 'a\\"]', [], {}, None, True, {"x": [1, 2]}, "é👑"],
    "after": [],
}


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("padding", [0, 1, 7, 30])
def test_blocks_may_end_anywhere(write, indent, padding):
    path = write("\ufeff" + " " * padding + json.dumps(DOCUMENT, indent=indent) + "\n")
    assert [element for _, element in stream_array(path, "data", block=1)] == DOCUMENT["data"]


def test_elements_are_given_before_what_comes_after_them_is_read(write):
    elements = stream_array(write('{\n"data": [1,\n\n2, oops]}'), "data")
    assert next(elements) == (2, 1)
    assert next(elements) == (4, 2)
    with pytest.raises(ValueError, match="Line 4 is not valid JSON"):
        next(elements)


@pytest.mark.real_data
def test_a_real_file_is_read_as_json_has_it(data_folder):
    path = data_folder / "squad2" / "dev-v2.0.json"
    data = read_squad(path)
    assert (len(data), len(set(data.contexts))) == (6078, 646)  # as its source says
    assert sum(target is None for target in data.targets()) == 3168
    assert len(set(data.titles)) == 16
    questions = [
        question["question"]
        for article in json.loads(path.read_text(encoding="utf-8"))["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    ]
    assert data.questions == questions
