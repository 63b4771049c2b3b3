"""A corpus as a retriever with the calls of FlashRAG: `search` and `batch_search` of records with `id` and `contents`."""

from __future__ import annotations

from typing import Any

from .corpus import Corpus
from .results import Hit

Record = dict[str, Any]


class KenRetriever:
    """Finds passages of a corpus.

    Args:
        corpus: The corpus.
        topk: How many passages, where a call does not say.
        mode: `dense`, `lexical` or `hybrid`.
    """

    def __init__(self, corpus: Corpus, topk: int = 5, mode: str | None = None) -> None:
        self._corpus, self._topk, self._mode = corpus, topk, mode

    def search(self, query: str, num: int | None = None, return_score: bool = False) -> Any:
        """The records that fit a query; with `return_score`, their scores as well."""
        records, scores = self.batch_search([query], num, return_score=True)
        return (records[0], scores[0]) if return_score else records[0]

    def batch_search(self, query: list[str], num: int | None = None, return_score: bool = False) -> Any:
        """As `search`, for many queries."""
        found = self._corpus.search_many(query, num or self._topk, mode=self._mode)
        records = [[_record(hit) for hit in hits] for hits in found]
        scores = [[hit.score for hit in hits] for hits in found]
        return (records, scores) if return_score else records


def _record(hit: Hit) -> Record:
    return {"id": hit.passage_id, "title": hit.title, "contents": f"{hit.title}\n{hit.text}" if hit.title else hit.text}
