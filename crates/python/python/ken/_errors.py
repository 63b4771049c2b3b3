"""The exception of the package. The extension raises it too."""

from __future__ import annotations


class KenError(Exception):
    """Why ken could not do something.

    Attributes:
        message: What went wrong, in a line.
        kind: The kind of error in snake case, for programs; the same as in ken's JSON.
        remedy: What would help, or None.
    """

    def __init__(self, message: str, kind: str = "failed", remedy: str | None = None) -> None:
        super().__init__(message, kind, remedy)
        self.message = message
        self.kind = kind
        self.remedy = remedy

    def __str__(self) -> str:
        return self.message if self.remedy is None else f"{self.message} ({self.remedy})"


def missing(package: str, purpose: str) -> KenError:
    """The error for an optional package that is not installed."""
    return KenError(f"{purpose} takes the package {package}", "missing_package", f"pip install {package}")
