"""Fill a model's variables from a checkpoint of any format, by a table of names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from pathlib import Path

import keras
import numpy as np

from kerasbert.checkpoints.errors import CheckpointError
from kerasbert.checkpoints.weight_files import WeightFiles
from kerasbert.families.names import Row


class NamedWeights:
    """The weights of a checkpoint, found by the rows of a table.

    A format derives from it where a row's key stands differently in its files (`key`), or where
    they hold more than weights (`is_passed_over`).

    Args:
        folder: the checkpoint's folder, for messages.
        files: its open files.
        config_file: name of the file that describes the model, for messages.
    """

    def __init__(self, folder: Path, files: WeightFiles, config_file: str):
        self.folder, self.files, self.config_file = folder, files, config_file

    def key(self, row: Row) -> str | None:
        """The files' key for a row; `None` if they do not have it."""
        return row.theirs if row.theirs in self.files else None

    def is_passed_over(self, key: str) -> bool:
        """Whether `key` is something else than a model's weight, such as an optimizer's state."""
        return False

    def has(self, rows: Iterable[Row], prefix: str) -> bool:
        """Whether the files hold any row whose Keras path starts with `prefix`."""
        return any(row.ours.startswith(prefix) and self.key(row) for row in rows)

    def load_into(
        self,
        variables: Mapping[str, keras.Variable],
        rows: Iterable[Row],
        copies: Iterable[Row] = (),
        are_tied: bool = True,
        left_out: str | None = None,
    ) -> None:
        """Fill `variables` (by path) from the files.

        Everything is checked before the first variable is changed. Keys that no row asked for are
        reported in one warning.

        Args:
            variables: the model's variables by path.
            rows: the table of the model.
            copies: rows of further copies of variables (tied weights); one of them serves where
                the variable's own key is missing.
            are_tied: whether the model uses the copies as well; if it does not, one that differs is
                a weight that it does not have.
            left_out: start of the paths of rows that the model does without on purpose; they are
                not reported.

        Raises:
            CheckpointError: if a variable's key is missing or of another shape, or a copy differs;
                it names the file, the key and both shapes.
        """
        rows = list(rows)
        copies = [row for row in copies if self.key(row) is not None]
        known = [row for row in rows if left_out and row.ours.startswith(left_out)]
        plan = self._plan(variables, rows, copies)
        differing = self._differing(plan, copies)
        if differing and are_tied:
            copy, row = next(iter(differing.items()))
            raise CheckpointError(
                f"{self.key(copy)} and {self.key(row)} in {self.folder} differ. Models with "
                "untied weights are not supported."
            )
        known += [*(row for _, row in plan), *(row for row in copies if row not in differing)]
        self._report_unused(self.key(row) for row in known)
        for variable, row in plan:
            variable.assign(self._read(row))

    def _plan(self, variables, rows, copies):
        by_path = {row.ours: row for row in rows}
        copy_by_path = {row.ours: row for row in copies}
        plan, problems = [], []
        for path, variable in variables.items():
            row, wanted = by_path[path], tuple(variable.shape)
            if self.key(row) is None:
                row = copy_by_path.get(path, row)
            key = self.key(row)
            if key is None:
                problems.append(f"{row.theirs}: missing, expected for {path} of shape {wanted}")
            elif not row.fits(found := self.files.shape(key), wanted):
                file = self.files.file_of(key).name
                wanted = row.shape_of_theirs(wanted)
                problems.append(f"{key}: shape {found} in {file}, {wanted} in the model")
            plan.append((variable, row))
        if problems:
            shown = "\n  ".join(problems[:8])
            more = f"\n  and {len(problems) - 8} more" if len(problems) > 8 else ""
            raise CheckpointError(
                f"The weights in {self.folder} do not fit the model that its {self.config_file} "
                f"describes. Fetch the folder again, or mend the configuration.\n  {shown}{more}"
            )
        return plan

    def _differing(self, plan, copies) -> dict[Row, Row]:
        """The "copies" that were trained apart, with the rows that are loaded in their place."""
        loaded = {row.ours: row for _, row in plan}
        pairs = {copy: loaded.get(copy.ours, copy) for copy in copies}
        return {
            copy: row
            for copy, row in pairs.items()
            if row != copy and not np.array_equal(*(self._read(one) for one in (copy, row)))
        }

    def _read(self, row: Row) -> np.ndarray:
        """The value of a row's variable."""
        return row.to_ours(self.files.read(self.key(row)))

    def _report_unused(self, used):
        unused = sorted(set(self.files) - set(used))
        unused = [key for key in unused if not self.is_passed_over(key)]
        if unused:
            shown = ", ".join(unused[:6]) + (", ..." if len(unused) > 6 else "")
            warnings.warn(
                f"{len(unused)} weights in {self.folder} are not part of this model and were not "
                f"loaded: {shown}",
                stacklevel=5,
            )
