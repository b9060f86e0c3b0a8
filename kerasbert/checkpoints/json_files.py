"""JSON files of presets and checkpoints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from kerasbert.checkpoints.errors import CheckpointError


def read_json(path: Path, kind: type = dict) -> Any:
    """The JSON object in a file of a preset, or the array for the kind `list`.

    Raises:
        CheckpointError: if the file is missing or is something else.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path} is missing. Save or fetch the preset again.") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise CheckpointError(
            f"{path} is not valid JSON ({error}). Save or fetch the preset again."
        ) from error
    if not isinstance(data, kind):
        name = "object" if kind is dict else "array"
        raise CheckpointError(f"{path} does not hold a JSON {name}. Save or fetch it again.")
    return data
