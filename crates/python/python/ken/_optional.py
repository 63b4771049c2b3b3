"""Packages that are imported where they are needed and there."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from ._errors import missing


def imported(package: str, purpose: str) -> ModuleType:
    """An optional package; an error that names it where it is not installed."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise missing(package, purpose) from error


def matrix(data: bytes, columns: int) -> Any:
    """32-bit floats as an array of numpy: `[rows][columns]`."""
    numpy = imported("numpy", "an array of vectors")
    return numpy.frombuffer(data, dtype="<f4").reshape(-1, columns)
