"""Hashes of files and values, by which a job knows what it has already done."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any


def file_sha256(path: Path) -> str:
    """The hexadecimal SHA-256 of a file's content."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fingerprint(value: Any) -> str:
    """The hexadecimal SHA-256 of a JSON value."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def files_in(path: Path) -> list[Path]:
    """The files in a folder and in those below it, sorted; of a file, itself."""
    candidates = [path] if path.is_file() else path.rglob("*")
    return sorted(file for file in candidates if file.is_file())
