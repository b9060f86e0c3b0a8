"""What tests of readers share."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes a small file and gives its path."""

    def write(content, name="data.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
