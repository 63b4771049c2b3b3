"""A corpus and a model as components of Haystack. Needs `pip install ken-rag[haystack]`."""

from __future__ import annotations

import os
from typing import Any, Optional, TypeVar, Union

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage

from ._adapting import metadata, outcome
from .corpus import Corpus
from .model import Model, Prompt
from .results import Generation

W = TypeVar("W", bound="_Writer")


@component
class KenRetriever:
    """Finds passages of a corpus.

    Args:
        corpus: The corpus, or its folder.
        top_k: How many passages; by default as in the settings, or 10.
        mode: `dense`, `lexical` or `hybrid`.
        filter: A condition on the documents' metadata, in ken's syntax.
        settings: Settings of `ken.toml` for a corpus that is named by its folder.
    """

    def __init__(
        self,
        corpus: Any,
        top_k: Optional[int] = None,
        mode: Optional[str] = None,
        filter: Optional[str] = None,
        settings: Optional[dict[str, Any]] = None,
    ) -> None:
        is_open = isinstance(corpus, Corpus)
        self._corpus = corpus if is_open else Corpus.open(os.fspath(corpus), **(settings or {}))
        self._options: dict[str, Any] = {
            "corpus": self._corpus.address,
            "top_k": top_k,
            "mode": mode,
            "filter": filter,
            "settings": settings,
        }

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: Optional[int] = None, filter: Optional[str] = None) -> dict[str, list[Document]]:
        """Finds passages.

        Args:
            query: The query.
            top_k, filter: Override those of the component.
        """
        options = self._options
        hits = self._corpus.search(
            query,
            options["top_k"] if top_k is None else top_k,
            mode=options["mode"],
            filter=options["filter"] if filter is None else filter,
        )
        return {
            "documents": [
                Document(id=hit.passage_id, content=hit.text, meta=metadata(hit), score=hit.score) for hit in hits
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        """The component for a pipeline's file: the corpus by its folder."""
        return default_to_dict(self, **self._options)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KenRetriever:
        """The component of a pipeline's file."""
        return default_from_dict(cls, data)


class _Writer:
    """What both generators share."""

    def __init__(
        self,
        model: Union[Model, str, os.PathLike[str], None] = None,
        generation_kwargs: Optional[dict[str, Any]] = None,
        settings: Optional[dict[str, Any]] = None,
    ) -> None:
        self._model = model if isinstance(model, Model) else Model(model, **(settings or {}))
        name = self._model._name
        self._options: dict[str, Any] = {
            "model": None if name is None else os.fspath(name),
            "generation_kwargs": generation_kwargs,
            "settings": settings,
        }

    def to_dict(self) -> dict[str, Any]:
        """The component for a pipeline's file: the model by its name."""
        return default_to_dict(self, **self._options)

    @classmethod
    def from_dict(cls: type[W], data: dict[str, Any]) -> W:
        """The component of a pipeline's file."""
        return default_from_dict(cls, data)

    def _write(self, prompt: Prompt, given: Optional[dict[str, Any]]) -> tuple[Generation, dict[str, Any]]:
        sampling = {**(self._options["generation_kwargs"] or {}), **(given or {})}
        written = self._model.generate(prompt, **sampling)
        return written, {"model": self._model.fingerprint, **outcome(written)}


@component
class KenGenerator(_Writer):
    """Continues raw texts.

    Args:
        model: The model, or its name; by default the one of `ken.toml`, or ken's own.
        generation_kwargs: Keywords of `Model.generate`, such as `max_tokens` (256 by default) and `temperature`.
        settings: Settings of `ken.toml` for a model that is given by name. A pipeline's file has the name of an open
            model, and these settings, but not those that it was opened with.
    """

    @component.output_types(replies=list[str], meta=list[dict[str, Any]])
    def run(self, prompt: str, generation_kwargs: Optional[dict[str, Any]] = None) -> dict[str, Any]:
        """The continuation, as one of `replies`, and in `meta` the model, why it ended and the tokens.

        Args:
            prompt: The text.
            generation_kwargs: Added to those of the component, which they override.
        """
        written, meta = self._write(prompt, generation_kwargs)
        return {"replies": [written.text], "meta": [meta]}


@component
class KenChatGenerator(_Writer):
    """Answers conversations in the chat format of a model on this machine. It calls no tools.

    Args:
        model, generation_kwargs, settings: As of `KenGenerator`.
    """

    @component.output_types(replies=list[ChatMessage])
    def run(
        self, messages: list[ChatMessage], generation_kwargs: Optional[dict[str, Any]] = None
    ) -> dict[str, list[ChatMessage]]:
        """The answer, as one of `replies`, whose `meta` has the model, why it ended and the tokens.

        Args:
            messages: The conversation; only the texts of its messages are read.
            generation_kwargs: Added to those of the component, which they override.
        """
        turns = [{"role": message.role.value, "content": "\n".join(message.texts)} for message in messages]
        written, meta = self._write(turns, generation_kwargs)
        return {"replies": [ChatMessage.from_assistant(written.text, meta=meta)]}
