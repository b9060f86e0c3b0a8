import pytest

from kerasbert.pipelines.conclusion import conclusion, file_to_ship
from kerasbert.pipelines.report import Row


def row(name, accuracy, size=100, latency=2.0):
    return Row(name, accuracy, 1000, size, latency, name)


TEACHER, STUDENT, FLOAT32 = row("teacher", 0.8), row("student", 0.76), row("float32", 0.76)


@pytest.mark.parametrize(
    ("accuracy", "shipped"), [(0.77, "int8"), (0.76, "int8"), (0.751, "int8"), (0.75, "float32")]
)
def test_the_8_bit_file_is_shipped_while_it_loses_less_than_a_point(accuracy, shipped):
    assert file_to_ship(STUDENT, FLOAT32, row("int8", accuracy)).name == shipped


def test_the_reasons_are_size_speed_and_accuracy():
    text = conclusion(TEACHER, STUDENT, FLOAT32, row("int8", 0.755, 25, 0.5), examples=200)
    assert "Ship int8: it is 0.5 points less accurate than the student" in text
    assert "4.0 times smaller than the float32 file and 4.0 times as fast" in text
    assert "keeps 95.0% of the teacher's accuracy" in text
    assert "one of the 200 evaluation texts is 0.50 points" in text


def test_the_float32_file_is_shipped_with_what_the_8_bit_file_loses():
    text = conclusion(TEACHER, STUDENT, FLOAT32, row("int8", 0.7, 25, 0.5), examples=200)
    assert "Ship float32: the 8-bit file is 6.0 points less accurate than the student" in text
