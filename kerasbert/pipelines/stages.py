"""The stages of a long job, each kept when finished, so that a second run goes on from there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from kerasbert.data.files import atomic_write
from kerasbert.pipelines.hashing import file_sha256, files_in, fingerprint

STATE_FILE = "stages.json"


class Stages:
    """Runs the stages of a job in order, and skips those that an earlier run finished.

    A stage counts as finished from the moment at which the state file in the job's folder says so.
    It is reused as long as its settings, the settings of all stages before it and the contents of
    the files that it wrote are the same.

    Args:
        folder: The job's folder, which exists.
        say: Called with one line of progress at a time. Defaults to `print`.

    Example:

    >>> import tempfile
    >>> stages = Stages(Path(tempfile.mkdtemp()), say=lambda line: None)
    >>> stages.run("add", {"numbers": [1, 2]}, lambda: 1 + 2)
    3
    >>> stages.finished
    ('add',)
    """

    def __init__(self, folder: Path, say: Callable[[str], None] = print):
        self.folder = folder
        self._say = say
        self._records = _read(folder / STATE_FILE)
        self._fingerprint = ""

    @property
    def finished(self) -> tuple[str, ...]:
        """Names of the finished stages."""
        return tuple(self._records)

    @property
    def seconds(self) -> dict[str, float]:
        """What each finished stage took when it ran."""
        return {name: record["seconds"] for name, record in self._records.items()}

    def run(
        self, name: str, settings: dict, make: Callable[[], Any], outputs: Iterable[str] = ()
    ) -> Any:
        """Runs a stage, unless it is finished already.

        Args:
            name: The stage's name.
            settings: Everything that its result depends on, apart from earlier stages; JSON values.
            make: Does the work. Returns a JSON value.
            outputs: Names, in the job's folder, of the files and folders that `make` writes.

        Returns:
            What `make` returned, now or in the earlier run.
        """
        self._fingerprint = fingerprint([self._fingerprint, name, settings])
        record = self._records.get(name)
        if record and record["fingerprint"] == self._fingerprint and self._intact(record):
            self._say(f"{name}: kept from an earlier run")
            return record["result"]
        self._forget(name)
        self._say(f"{name}: started")
        start = time.perf_counter()
        result = make()
        self._records[name] = {
            "fingerprint": self._fingerprint,
            "seconds": round(time.perf_counter() - start, 1),
            "outputs": self._hashes(outputs),
            "result": result,
        }
        self._write()
        self._say(f"{name}: finished after {self._records[name]['seconds']:.0f} s")
        return result

    def _forget(self, name: str) -> None:
        """Strikes out a stage and those after it, before any of their files change."""
        if name in self._records:
            names = list(self._records)
            for later in names[names.index(name) :]:
                del self._records[later]
            self._write()

    def _intact(self, record: dict) -> bool:
        files = {self.folder / name: sha256 for name, sha256 in record["outputs"].items()}
        return all(path.is_file() and file_sha256(path) == files[path] for path in files)

    def _hashes(self, outputs: Iterable[str]) -> dict[str, str]:
        return {
            file.relative_to(self.folder).as_posix(): file_sha256(file)
            for output in outputs
            for file in files_in(self.folder / output)
        }

    def _write(self) -> None:
        with atomic_write(self.folder / STATE_FILE, "w") as file:
            json.dump(self._records, file, indent=1)


def _read(path: Path) -> dict[str, dict]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, json.JSONDecodeError):
        return {}
