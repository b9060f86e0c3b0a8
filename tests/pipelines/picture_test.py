import struct

import pytest

from kerasbert.pipelines.picture import draw, wilson_interval
from kerasbert.pipelines.report import Row


@pytest.mark.parametrize(
    ("successes", "examples", "expected"),
    [
        # Newcombe, 1998, "Two-sided confidence intervals for the single proportion", table I.
        (81, 263, (0.2553, 0.3662)),
        (15, 148, (0.0624, 0.1605)),
        (0, 20, (0.0, 0.1611)),
        (1, 29, (0.0061, 0.1718)),
    ],
)
def test_the_interval_is_wilsons(successes, examples, expected):
    found = wilson_interval(successes / examples, examples)
    assert found == pytest.approx(expected, abs=5e-5)


@pytest.mark.parametrize("count", [1, 4, 6])
def test_a_picture_is_drawn_for_any_number_of_models(tmp_path, count):
    rows = [Row(f"model {i}", i / count, 1000, 1000 * (i + 1), 0.1, "") for i in range(count)]
    draw(rows, tmp_path / "report.png", examples=10)
    content = (tmp_path / "report.png").read_bytes()
    width, height = struct.unpack(">II", content[16:24])  # of the PNG header
    assert width == 1760
    assert height > 250
