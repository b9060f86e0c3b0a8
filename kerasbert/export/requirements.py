"""The packages of the ``export`` extra."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from types import ModuleType


def require(name: str) -> ModuleType:
    """Imports a module of the ``export`` extra.

    Args:
        name: Module name, for example ``"ai_edge_litert.interpreter"``.

    Returns:
        The module.

    Raises:
        ImportError: It is not installed; the message says how to install it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise _missing(name.partition(".")[0]) from error


def require_installed(*names: str) -> None:
    """Checks that packages are installed, without importing them.

    Args:
        *names: Top-level package names.

    Raises:
        ImportError: One is not installed; the message says how to install it.
    """
    for name in names:
        hidden = name in sys.modules and sys.modules[name] is None
        if hidden or importlib.util.find_spec(name) is None:
            raise _missing(name)


def _missing(package: str) -> ImportError:
    return ImportError(
        f"Export needs the package `{package}`. Install it with `pip install kerasbert[export]`.",
        name=package,
    )
