"""Optional packages, imported when they are needed."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from ._errors import missing


def imported(package: str, purpose: str) -> ModuleType:
    """Imports an optional package, or raises an error that names it."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise missing(package, purpose) from error


def matrix(data: bytes, columns: int) -> Any:
    """32-bit floats as a NumPy array: `[rows][columns]`."""
    numpy = imported("numpy", "an array of vectors")
    return numpy.frombuffer(data, dtype="<f4").reshape(-1, columns)
