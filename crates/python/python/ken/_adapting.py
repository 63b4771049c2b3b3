"""What the adapters share: a passage's fields besides its text, and how a written text ended."""

from __future__ import annotations

from typing import Any, Union

from .results import Generation, Hit, Retrieved


def metadata(passage: Union[Hit, Retrieved]) -> dict[str, Any]:
    """The document's own metadata, if the passage has it, with the passage's fields under ken's names."""
    known = {name: value for name, value in passage.to_dict().items() if value not in (None, "")}
    del known["text"]
    return {**known.pop("metadata", {}), **known}


def outcome(written: Generation) -> dict[str, Any]:
    """Why a text ended, and the tokens read and written, under the names of OpenAI's API, which frameworks know."""
    reason = "stop" if written.finish in ("end", "stop_string") else written.finish
    if written.tokens is None:
        return {"finish_reason": reason}
    counts = (written.prompt_tokens, len(written.tokens))
    usage = {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)}
    return {"finish_reason": reason, "usage": usage}
