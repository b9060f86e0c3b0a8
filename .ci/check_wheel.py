"""Checks that a wheel carries every file of the package and nothing else.

Usage: python .ci/check_wheel.py WHEEL
"""

import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kerasbert"


def expected_files() -> set[str]:
    """The package's files in the source tree, as a wheel names them."""
    return {
        path.relative_to(ROOT).as_posix()
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def problems(packed: set[str]) -> list[str]:
    expected = expected_files()
    sample = [name for name in packed if name.startswith("kerasbert/data/sample/")]
    found = [f"missing: {name}" for name in sorted(expected - packed)]
    found += [f"does not belong: {name}" for name in sorted(packed - expected)]
    if "kerasbert/py.typed" not in packed:
        found.append("missing: kerasbert/py.typed")
    if not any(name.endswith(".csv") for name in sample):
        found.append("missing: the sample data (kerasbert/data/sample/*.csv)")
    return found


def main() -> int:
    wheel = Path(sys.argv[1])
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if ".dist-info/" not in name}
    found = problems(packed)
    print(f"{wheel.name}: {len(packed)} files, {len(found)} problems", *found, sep="\n  ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
