"""Labelled texts from JSON lines."""

import pytest

from kerasbert.data import LabelledTexts, read_json_lines, stream_json_lines


def test_texts_and_labels_are_read_in_order(write):
    path = write('{"text": "wake me", "label": "alarm", "id": 1}\n\n{"label": "music", "text": ""}')
    assert read_json_lines(path) == LabelledTexts(["wake me", ""], ["alarm", "music"])


@pytest.mark.parametrize(
    ("label", "value"),
    [("1", 1), ("0.5", 0.5), ("true", True), ('["a", "b"]', ["a", "b"]), ("[]", []), ('"x"', "x")],
)
def test_labels_are_strings_numbers_or_lists_of_them(write, label, value):
    path = write(f'{{"text": "a", "label": {label}}}\n')
    assert read_json_lines(path).targets() == [value]


def test_pairs_are_used_if_the_first_object_has_one(write):
    path = write(
        '{"text": "a", "text_pair": "b", "label": 1}\n{"text": "c", "text_pair": "", "label": 0}'
    )
    assert read_json_lines(path).inputs() == {"text": ["a", "c"], "text_pair": ["b", ""]}


def test_other_field_names_can_be_given(write):
    path = write('{"premise": "a", "hypothesis": "b", "gold": "neutral", "label": 7}')
    stream = stream_json_lines(path, text="premise", text_pair="hypothesis", label="gold")
    expected = [{"text": "a", "text_pair": "b", "label": "neutral"}]
    assert list(stream) == list(stream) == expected


def test_line_separators_of_unicode_do_not_end_a_line(write):
    path = write('{"text": "a\u2028b\x85c", "label": 1}\r\n{"text": "d", "label": 2}\r\n')
    assert read_json_lines(path).texts == ["a\u2028b\x85c", "d"]


GOOD = '{"text": "a", "label": "x"}\n'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        (GOOD + '{"text": "a", "label": "x"', "Line 2 is not valid JSON"),
        (GOOD + "\n[1]\n", "Line 3 is no JSON object"),
        (GOOD + '{"label": "x"}', r"Line 2 has no field 'text', only \['label'\]"),
        (GOOD + '{"text": "a"}', r"Line 2 has no field 'label', only \['text'\]"),
        (
            GOOD + '{"text": null, "label": "x"}',
            "Line 2 has in its field 'text' None",
        ),
        (GOOD + '{"text": "a", "label": null}', "'label' None, where a string must be"),
        (GOOD + '{"text": "a", "label": ""}', "'label' '', where a string must be"),
        (GOOD + '{"text": "a", "label": 1}', "Line 2 .*'label' 1, where a string must be"),
        ('{"text": "a", "label": NaN}', "'label' nan, where a string, a number or a list"),
        ('{"text": "a", "label": {"x": 1}}', "where a string, a number or a list"),
        ('{"text": "a", "label": [["x"]]}', "where a string, a number or a list"),
        (
            '{"text": "a", "text_pair": "b", "label": 1}\n{"text": "a", "label": 1}',
            "Line 2 has no field 'text_pair'",
        ),
        (GOOD.encode() + b'{"text": "\xe9"}', "Line 2 is not UTF-8"),
    ],
)
def test_bad_files_are_one_clear_error_that_names_file_and_line(write, content, message):
    path = write(content)
    with pytest.raises(ValueError, match=message) as error:
        read_json_lines(path)
    assert str(path) in str(error.value)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="absent"):
        stream_json_lines(tmp_path / "absent.jsonl")
