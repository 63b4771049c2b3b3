"""What the adapters share: a hit's fields beside its text."""

from __future__ import annotations

from typing import Any

from .results import Hit


def metadata(hit: Hit) -> dict[str, Any]:
    """The document's own metadata, with what ken knows of the passage under its own names."""
    known = {name: value for name, value in hit.to_dict().items() if value not in (None, "")}
    del known["text"], known["metadata"]
    return {**hit.metadata, **known}
