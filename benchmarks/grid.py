"""A grid of cells, each run in a process of its own and kept as one line of JSON.

A file that holds some cells already is gone on with: what it has is not run again.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path


class Grid:
    """The cells of a file of JSON lines.

    Args:
        path: the file; made where it is missing. A last line that a killed run left half written
            is dropped.
    """

    def __init__(self, path: Path):
        self._path = path
        self.cells = [json.loads(line) for line in self._whole_lines()]

    def _whole_lines(self) -> list[str]:
        if not self._path.exists():
            return []
        text = self._path.read_text(encoding="utf-8")
        whole, _, rest = text.rpartition("\n")
        if rest:
            print(f"{self._path}: the last line is half written and will be run again")
            self._path.write_text(whole + "\n" if whole else "", encoding="utf-8")
        return whole.splitlines()

    def find(self, **key) -> dict | None:
        """The cell that has these values, or `None`."""
        for cell in self.cells:
            if key.items() <= cell.items():
                return cell
        return None

    def add(self, cell: dict) -> None:
        """Keep a cell, on disk at once."""
        self.cells.append(cell)
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(cell) + "\n")
            file.flush()
            os.fsync(file.fileno())


def run_cell(script: Path, key: dict, backend: str) -> dict:
    """Run `script --cell KEY` in a process of its own.

    Args:
        script: prints its result as the last line, in JSON.
        key: what is to be run.
        backend: Keras's.

    Returns:
        The key and the result; or the key and `"failure"`.
    """
    process = subprocess.run(
        [sys.executable, str(script), "--cell", json.dumps(key)],
        env={**os.environ, "KERAS_BACKEND": backend},
        capture_output=True,
        text=True,
    )
    if process.returncode:
        lines = process.stderr.strip().splitlines()
        return {**key, "failure": lines[-1] if lines else f"exit code {process.returncode}"}
    return {**key, **json.loads(process.stdout.strip().splitlines()[-1])}
