"""A corpus as a retriever of LlamaIndex. Takes `pip install ken-rag[llamaindex]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ._adapting import metadata
from .corpus import Corpus
from .results import Hit


class KenRetriever(BaseRetriever):
    """Finds passages of a corpus.

    Args:
        corpus: The corpus.
        k, mode, filter: As of `Corpus.search`.
        **options: Those of LlamaIndex's `BaseRetriever`.
    """

    def __init__(
        self,
        corpus: Corpus,
        k: int | None = None,
        mode: str | None = None,
        filter: str | Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self._corpus = corpus
        self._options: dict[str, Any] = {"k": k, "mode": mode, "filter": filter}

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in self._corpus.search(query_bundle.query_str, **self._options)]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return [_node(hit) for hit in await self._corpus.asearch(query_bundle.query_str, **self._options)]


def _node(hit: Hit) -> NodeWithScore:
    return NodeWithScore(node=TextNode(id_=hit.passage_id, text=hit.text, metadata=metadata(hit)), score=hit.score)
