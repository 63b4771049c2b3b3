"""A corpus as a retriever of LlamaIndex, a model as its LLM, a pipeline as its query engine. Needs
`pip install ken-rag[llamaindex]`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from queue import SimpleQueue
from threading import Event
from typing import Any, Optional, TypeVar, Union

from llama_index.core.base.base_query_engine import BaseQueryEngine
from llama_index.core.base.llms.generic_utils import (
    completion_response_to_chat_response,
    stream_completion_response_to_chat_response,
)
from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, LLMMetadata
from llama_index.core.base.response.schema import Response
from llama_index.core.bridge.pydantic import Field
from llama_index.core.callbacks import CallbackManager
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from llama_index.core.llms.llm import LLM
from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode

from ._adapting import metadata, outcome
from .corpus import Corpus
from .model import Model, Prompt
from .pipeline import Pipeline
from .results import Answer, Generation, Hit, Retrieved

T = TypeVar("T")

#: Metadata that LlamaIndex leaves out of prompts.
_UNREAD = ["passage_id", "doc_id", "score", "chunk", "in_prompt"]


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


def _node(passage: Union[Hit, Retrieved]) -> NodeWithScore:
    fields = metadata(passage)
    node = TextNode(id_=passage.passage_id, text=passage.text, metadata=fields, excluded_llm_metadata_keys=_UNREAD)
    return NodeWithScore(node=node, score=passage.score)


class KenQueryEngine(BaseQueryEngine):
    """Answers questions by a pipeline, whose policy decides whether one is searched for. The `source_nodes` of a response are
    the passages that the model read, best first; its `metadata` is `ken.Answer.to_dict` of the answer, with `route`, `reason` and
    `citations`, but without `retrieved`.

    Args:
        pipeline: The pipeline.
        callback_manager: That of LlamaIndex's `BaseQueryEngine`.
    """

    def __init__(self, pipeline: Pipeline, callback_manager: Optional[CallbackManager] = None) -> None:
        super().__init__(callback_manager)
        self._pipeline = pipeline

    def _query(self, query_bundle: QueryBundle) -> Response:
        return _response(self._pipeline.ask(query_bundle.query_str))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return _response(await self._pipeline.aask(query_bundle.query_str))

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}


def _response(answer: Answer) -> Response:
    fields = answer.to_dict()
    del fields["retrieved"]
    nodes = [_node(passage) for passage in answer.retrieved if passage.in_prompt]
    return Response(answer.answer, source_nodes=nodes, metadata=fields)


class KenLLM(LLM):
    """A model on this machine. Conversations are put in its chat format, and raw texts are continued. It calls no
    tools.

    Attributes:
        model: The model.
        max_tokens, temperature, seed: As of `Model.generate`; a call may give others.
    """

    model: Model = Field(exclude=True)
    max_tokens: int = 256
    temperature: float = 0.0
    seed: int = 0

    @classmethod
    def class_name(cls) -> str:
        """LlamaIndex's name of the class."""
        return "ken"

    @property
    def metadata(self) -> LLMMetadata:
        """The context and the longest answer, in tokens, and the model's fingerprint as its name."""
        return LLMMetadata(
            context_window=self.model.context_tokens,
            num_output=self.max_tokens,
            is_chat_model=True,
            model_name=self.model.fingerprint,
        )

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **sampling: Any) -> CompletionResponse:
        return _completion(self.model.generate(self._text(prompt, formatted), **self._sampling(**sampling)))

    @llm_completion_callback()
    async def acomplete(self, prompt: str, formatted: bool = False, **sampling: Any) -> CompletionResponse:
        return _completion(await self.model.agenerate(self._text(prompt, formatted), **self._sampling(**sampling)))

    @llm_completion_callback()
    def stream_complete(
        self, prompt: str, formatted: bool = False, **sampling: Any
    ) -> Generator[CompletionResponse, None, None]:
        return _stream(self.model, self._text(prompt, formatted), self._sampling(**sampling))

    @llm_completion_callback()
    async def astream_complete(
        self, prompt: str, formatted: bool = False, **sampling: Any
    ) -> AsyncGenerator[CompletionResponse, None]:
        return _unblocked(_stream(self.model, self._text(prompt, formatted), self._sampling(**sampling)))

    @llm_chat_callback()
    def chat(self, messages: Sequence[ChatMessage], **sampling: Any) -> ChatResponse:
        written = self.model.generate(_turns(messages), **self._sampling(**sampling))
        return completion_response_to_chat_response(_completion(written))

    @llm_chat_callback()
    async def achat(self, messages: Sequence[ChatMessage], **sampling: Any) -> ChatResponse:
        written = await self.model.agenerate(_turns(messages), **self._sampling(**sampling))
        return completion_response_to_chat_response(_completion(written))

    @llm_chat_callback()
    def stream_chat(self, messages: Sequence[ChatMessage], **sampling: Any) -> Generator[ChatResponse, None, None]:
        stream = _stream(self.model, _turns(messages), self._sampling(**sampling))
        return stream_completion_response_to_chat_response(stream)

    @llm_chat_callback()
    async def astream_chat(
        self, messages: Sequence[ChatMessage], **sampling: Any
    ) -> AsyncGenerator[ChatResponse, None]:
        stream = _stream(self.model, _turns(messages), self._sampling(**sampling))
        return _unblocked(stream_completion_response_to_chat_response(stream))

    def _text(self, prompt: str, formatted: bool) -> str:
        return prompt if formatted or self.completion_to_prompt is None else self.completion_to_prompt(prompt)

    def _sampling(self, **given: Any) -> dict[str, Any]:
        own = {"max_tokens": self.max_tokens, "temperature": self.temperature, "seed": self.seed}
        return {**own, **given}


def _turns(messages: Sequence[ChatMessage]) -> list[dict[str, str]]:
    return [{"role": message.role.value, "content": message.content or ""} for message in messages]


def _completion(written: Generation) -> CompletionResponse:
    return CompletionResponse(text=written.text, raw=outcome(written))


def _stream(model: Model, prompt: Prompt, sampling: dict[str, Any]) -> Generator[CompletionResponse, None, None]:
    """What is written so far, after each piece and at the end. A thread writes it, until the caller stops listening."""
    pieces: SimpleQueue[str | None] = SimpleQueue()
    abandoned = Event()

    def hear(piece: str) -> None:
        if abandoned.is_set():
            raise CancelledError
        pieces.put(piece)

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(model.generate, prompt, on_text=hear, **sampling)
        writing.add_done_callback(lambda _: pieces.put(None))
        text = ""
        try:
            for piece in iter(pieces.get, None):
                text += piece
                yield CompletionResponse(text=text, delta=piece)
        finally:
            abandoned.set()
        written = _completion(writing.result())
    written.delta = ""
    yield written


async def _unblocked(stream: Generator[T, None, None]) -> AsyncGenerator[T, None]:
    """A stream that does not block the event loop."""
    while (part := await asyncio.to_thread(next, stream, None)) is not None:
        yield part
