"""A corpus as a retriever of DSPy. Needs `pip install ken-rag[dspy]`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dspy

from ._adapting import metadata
from .corpus import Corpus


class KenRetriever(dspy.Retrieve):
    """Finds passages of a corpus, within modules of DSPy or by itself.

    Args:
        corpus: The corpus.
        k, mode, filter: As of `Corpus.search`.
    """

    def __init__(
        self, corpus: Corpus, k: int = 3, *, mode: str | None = None, filter: str | Sequence[str] | None = None
    ) -> None:
        super().__init__(k=k)
        self.corpus, self.mode, self.filter = corpus, mode, filter

    def forward(self, query: str, k: int | None = None, **_: Any) -> dspy.Prediction:
        """The `passages`, with their `scores`, and their fields as `metadata`."""
        hits = self.corpus.search(query, k or self.k, mode=self.mode, filter=self.filter)
        return dspy.Prediction(
            passages=[hit.text for hit in hits],
            scores=[hit.score for hit in hits],
            metadata=[metadata(hit) for hit in hits],
        )
