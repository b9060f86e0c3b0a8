import pytest

from kerasbert.pipelines.report import Row, markdown_report, table

ROWS = [
    Row("teacher", 0.925, 22_718_221, 90_900_000, 12.345, "teacher/"),
    Row("student 8-bit .tflite", 1.0, 17_393_293, 17_449_999, 0.684, "student_int8.tflite"),
]


def test_the_table_is_markdown_with_aligned_columns():
    header, rule, *body = table(ROWS).split("\n")
    assert len({len(line) for line in (header, rule, *body)}) == 1
    assert [cell.strip() for cell in header.strip("|").split("|")] == [
        "model",
        "accuracy",
        "parameters",
        "size (MB)",
        "latency (ms)",
        "file",
    ]
    assert [cell[0] + cell[-1] for cell in rule.strip("|").split("|")] == [
        ":-",
        "-:",
        "-:",
        "-:",
        "-:",
        ":-",
    ]
    assert [cell.strip() for cell in body[1].strip("|").split("|")] == [
        "student 8-bit .tflite",
        "100.0 %",
        "17,393,293",
        "17.4",
        "0.68",
        "student_int8.tflite",
    ]


@pytest.mark.parametrize("picture", [None, "report.png"])
def test_the_report_holds_table_conclusion_facts_and_picture(picture):
    text = markdown_report("Title", ROWS, "Ship it.", {"Data": "few", "Machine": "old"}, picture)
    assert text.startswith("# Title\n\n| model")
    for part in (table(ROWS), "\n\nShip it.\n\n", "- Data: few\n- Machine: old\n"):
        assert part in text
    assert ("(report.png)" in text) == (picture is not None)
