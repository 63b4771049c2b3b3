"""A corpus as a retriever of LangChain. Takes `pip install ken-rag[langchain]`."""

from __future__ import annotations

from typing import Any, Optional, Union

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from ._adapting import metadata
from .corpus import Corpus
from .results import Hit


class KenRetriever(BaseRetriever):
    """Finds passages of a corpus.

    Attributes:
        corpus: The corpus.
        k, mode, filter: As of `Corpus.search`.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    corpus: Corpus
    k: Optional[int] = None
    mode: Optional[str] = None
    filter: Union[str, list[str], None] = None

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [_document(hit) for hit in self.corpus.search(query, self.k, mode=self.mode, filter=self.filter)]

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        found = await self.corpus.asearch(query, self.k, mode=self.mode, filter=self.filter)
        return [_document(hit) for hit in found]


def _document(hit: Hit) -> Document:
    return Document(page_content=hit.text, id=hit.passage_id, metadata=metadata(hit))
