"""A corpus as a component of Haystack. Takes `pip install ken-rag[haystack]`."""

from __future__ import annotations

import os
from typing import Any, Optional

from haystack import Document, component, default_from_dict, default_to_dict

from ._adapting import metadata
from .corpus import Corpus


@component
class KenRetriever:
    """Finds passages of a corpus.

    Args:
        corpus: The corpus, or its folder.
        top_k: How many passages; 10 where neither this nor a setting says.
        mode: `dense`, `lexical` or `hybrid`.
        filter: A condition on the documents' metadata, in ken's words.
        settings: Settings of `ken.toml` for a corpus that is given by its folder.
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
            query: What is searched for.
            top_k, filter: In place of those of the component.
        """
        options = self._options
        found = self._corpus.search(
            query,
            options["top_k"] if top_k is None else top_k,
            mode=options["mode"],
            filter=options["filter"] if filter is None else filter,
        )
        return {
            "documents": [
                Document(id=hit.passage_id, content=hit.text, meta=metadata(hit), score=hit.score) for hit in found
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        """The component for a pipeline's file: the corpus by its folder."""
        return default_to_dict(self, **self._options)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> KenRetriever:
        """The component of a pipeline's file."""
        return default_from_dict(cls, data)
