"""The rules of the house that a reader of the code may rely on, checked on the source itself."""

import ast
import importlib.metadata
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "kerasbert"
MODULES = sorted(PACKAGE.rglob("*.py"))

BACKEND_PACKAGES = {"tensorflow", "tensorflow_text", "jax", "jaxlib", "torch"}
BACKEND_IMPORTS_ALLOWED_IN = (
    "export/",
    "checkpoints/",
    "text/in_graph.py",
    "models/feeding.py",
    "tuning/fused_steps.py",
    "pretraining/distribution.py",
    "serving/engines.py",
)
PRIVATE_PACKAGES = ("keras.src", "keras_hub.src")


class Import(NamedTuple):
    module: str  # the full name of what is imported: "keras.src.layers"
    place: str  # "models/encoder.py:12", below kerasbert/
    inside_function: bool

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


class ImportCollector(ast.NodeVisitor):
    """Lists a file's absolute imports and whether each waits for a function to be called."""

    def __init__(self, place: str):
        self.place = place
        self.depth = 0
        self.imports: list[Import] = []

    def visit_FunctionDef(self, node):
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_If(self, node):
        if ast.unparse(node.test) not in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            self.generic_visit(node)

    def visit_Import(self, node):
        for alias in node.names:
            self.add(alias.name, node)

    def visit_ImportFrom(self, node):
        if node.level == 0:
            for alias in node.names:
                self.add(f"{node.module}.{alias.name}", node)

    def add(self, module, node):
        self.imports.append(Import(module, f"{self.place}:{node.lineno}", self.depth > 0))


def imports_of(source: str, place: str) -> list[Import]:
    collector = ImportCollector(place)
    collector.visit(ast.parse(source))
    return collector.imports


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    return [
        found
        for path in MODULES
        for found in imports_of(path.read_text(), path.relative_to(PACKAGE).as_posix())
    ]


def misplaced_backend_imports(imports: list[Import]) -> list[Import]:
    return [
        found
        for found in imports
        if found.package in BACKEND_PACKAGES
        and not (found.inside_function and found.place.startswith(BACKEND_IMPORTS_ALLOWED_IN))
    ]


def private_imports(imports: list[Import]) -> list[Import]:
    return [
        found
        for found in imports
        if f"{found.module}.".startswith(tuple(f"{name}." for name in PRIVATE_PACKAGES))
    ]


def test_backends_are_imported_inside_functions_of_few_files_only(imports):
    assert misplaced_backend_imports(imports) == []


def test_private_modules_of_keras_are_not_imported(imports):
    assert private_imports(imports) == []


@pytest.mark.parametrize(
    ("source", "place", "is_misplaced"),
    [
        ("import torch", "layers/block.py", True),
        ("def f():\n    import torch", "layers/block.py", True),
        ("import tensorflow as tf", "export/litert_export.py", True),
        ("class A:\n    from jax import numpy", "export/litert_export.py", True),
        ("def f():\n    from jax import numpy", "export/litert_export.py", False),
        ("def f():\n    import tensorflow_text", "text/in_graph.py", False),
        ("import keras", "layers/block.py", False),
    ],
)
def test_misplaced_backend_imports_are_found(source, place, is_misplaced):
    assert bool(misplaced_backend_imports(imports_of(source, place))) == is_misplaced


@pytest.mark.parametrize(
    ("source", "is_private"),
    [
        ("import keras.src.layers", True),
        ("from keras.src import tree", True),
        ("from keras import src", True),
        ("def f():\n    from keras_hub.src.models import task", True),
        ("from keras import ops", False),
        ("import keras_hub", False),
    ],
)
def test_private_imports_are_found(source, is_private):
    assert bool(private_imports(imports_of(source, "layers/block.py"))) == is_private


def normalized(requirement: str) -> str:
    """The name in a requirement as package indexes compare it: "ml_dtypes>=0.5" is "ml-dtypes"."""
    return re.sub(r"[-_.]+", "-", re.split(r"[\[<>=!~; ]", requirement)[0]).lower()


def test_every_import_is_a_declared_dependency(imports):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    base = {normalized(line) for line in project["dependencies"]}
    extras = project["optional-dependencies"].values()
    optional = base | {normalized(line) for extra in extras for line in extra}
    distributions = importlib.metadata.packages_distributions()

    undeclared = []
    for found in imports:
        if found.package == "kerasbert" or found.package in sys.stdlib_module_names:
            continue
        names = {normalized(name) for name in distributions.get(found.package, [found.package])}
        if not names & (optional if found.inside_function else base):
            undeclared.append(found)
    assert undeclared == []


def public_names(init: Path) -> Iterator[str]:
    """The names in a package's `__all__`."""
    for node in ast.parse(init.read_text()).body:
        if isinstance(node, ast.Assign) and "__all__" in [ast.unparse(t) for t in node.targets]:
            yield from (name for name in ast.literal_eval(node.value))


def test_no_module_file_has_the_name_of_a_public_function():
    clashes = [
        f"{init.parent.relative_to(ROOT)}/{name}.py"
        for init in PACKAGE.rglob("__init__.py")
        for name in public_names(init)
        if (init.parent / f"{name}.py").exists()
    ]
    assert clashes == []


def test_importing_the_package_prints_nothing():
    result = subprocess.run(
        [sys.executable, "-c", "import kerasbert"], capture_output=True, text=True, check=True
    )
    assert (result.stdout, result.stderr) == ("", "")


def test_the_command_is_installed():
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="kerasbert")
    assert callable(command.load())


def lines_of_code(path: Path) -> int:
    """Lines that are neither blank nor comments nor docstrings."""
    source = path.read_text(encoding="utf-8")
    documented = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            documented.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return sum(
        bool(line.strip()) and not line.strip().startswith("#") and number not in documented
        for number, line in enumerate(source.splitlines(), start=1)
    )


def test_the_encoder_of_all_families_can_be_read_in_one_sitting():
    files = [path for path in (PACKAGE / "layers").glob("*.py") if path.name != "__init__.py"]
    assert sum(map(lines_of_code, files)) <= 1280
