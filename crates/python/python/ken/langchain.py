"""A corpus as a retriever of LangChain, a model as its chat model, an embedder as its embeddings. Ragas takes the latter two
as its judge. Needs `pip install ken-rag[langchain]`."""

from __future__ import annotations

from typing import Any, Optional, Union

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict

from ._adapting import metadata, outcome
from .corpus import Corpus
from .model import Embedder, Model
from .results import Generation, Hit


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
        hits = await self.corpus.asearch(query, self.k, mode=self.mode, filter=self.filter)
        return [_document(hit) for hit in hits]


def _document(hit: Hit) -> Document:
    return Document(page_content=hit.text, id=hit.passage_id, metadata=metadata(hit))


class KenEmbeddings(Embeddings):
    """An embedder as LangChain's embeddings.

    Args:
        embedder: The embedder.
    """

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of passages: `[texts][dimensions]`."""
        vectors: list[list[float]] = self.embedder.embed(texts, role="passage").tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """The vector of a query: `[dimensions]`."""
        vector: list[float] = self.embedder.embed([text], role="query")[0].tolist()
        return vector


class KenChat(BaseChatModel):
    """A model on this machine or behind an endpoint as a chat model. It calls no tools.

    Attributes:
        model: The model.
        max_tokens, temperature, seed: As of `Model.generate`; a call may give others.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: Model
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0

    @property
    def model_name(self) -> str:
        """The model's fingerprint, by which others, such as Ragas, name it."""
        return self.model.fingerprint

    @property
    def _llm_type(self) -> str:
        return "ken"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model_name, **self._sampling()}

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Any = None,
        **sampling: Any,
    ) -> ChatResult:
        return _result(self.model.generate(_turns(messages), stop=stop or (), **self._sampling(**sampling)))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: Optional[list[str]] = None,
        run_manager: Any = None,
        **sampling: Any,
    ) -> ChatResult:
        return _result(await self.model.agenerate(_turns(messages), stop=stop or (), **self._sampling(**sampling)))

    def _sampling(self, **given: Any) -> dict[str, Any]:
        own = {"max_tokens": self.max_tokens, "temperature": self.temperature, "seed": self.seed}
        return {**own, **given}


def _turns(messages: list[BaseMessage]) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = convert_to_openai_messages(messages, text_format="string")
    return turns


def _result(written: Generation) -> ChatResult:
    ended = outcome(written)
    usage = None
    if counts := ended.get("usage"):
        usage = {
            "input_tokens": counts["prompt_tokens"],
            "output_tokens": counts["completion_tokens"],
            "total_tokens": counts["total_tokens"],
        }
    message = AIMessage(written.text, usage_metadata=usage, response_metadata={"finish_reason": ended["finish_reason"]})
    return ChatResult(generations=[ChatGeneration(message=message)])
