"""The results of calls. Each has `to_dict()`, which equals ken's JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

T = TypeVar("T", bound="Result")


class Result:
    """A result of a call."""

    @classmethod
    def of(cls: type[T], fields: Mapping[str, Any]) -> T:
        """The result with the fields of ken's JSON; fields of later versions are left out."""
        known = cls.__dataclass_fields__  # type: ignore[attr-defined]
        return cls(**{name: value for name, value in fields.items() if name in known})

    @classmethod
    def read(cls: type[T], text: str) -> T:
        """As `of`, from JSON."""
        return cls.of(json.loads(text))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain values, nested ones included."""
        values: dict[str, Any] = dataclasses.asdict(self)  # type: ignore[call-overload]
        return values


@dataclass(frozen=True)
class Document(Result):
    """A document of a corpus."""

    id: str
    title: str
    #: How many passages it has, pruned ones included.
    passages: int
    #: How many of them are pruned.
    pruned: int = 0
    #: The file that it was read from, if there is one.
    origin: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class _Passage(Result):
    passage_id: str
    doc_id: str
    title: str
    text: str
    #: The headings over it, from the outermost, with ` > ` between them.
    heading: str = ""
    #: The page on which it begins, from 1, and the one on which it ends, if that is another.
    page: int | None = None
    last_page: int | None = None
    #: Where the document can be read.
    url: str | None = None
    #: The characters of the passage's text that it is, `{"start", "end"}`, if passages were cut for reranking.
    chunk: dict[str, int] | None = None


@dataclass(frozen=True)
class Hit(_Passage):
    """A search result: a passage, or a chunk of one."""

    #: How well it fits: higher is better, and comparable within one search only.
    score: float = 0.0
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Retrieved(_Passage):
    """A search result for a question, or a passage beside one."""

    #: How well it fits: higher is better, and comparable within one search only; `None` for a passage beside.
    score: float | None = None
    #: Whether the model read it.
    in_prompt: bool = False


@dataclass(frozen=True)
class Citation(_Passage):
    """A passage that an answer rests on."""

    #: Its number in the prompt, from 1.
    number: int = 0
    #: Where a full answer names it, as ranges of its characters.
    places: list[dict[str, int]] = field(default_factory=list)


@dataclass(frozen=True)
class Answer(Result):
    """An answer, where it came from and what it cost. `str()` gives its text."""

    question: str
    #: The text.
    answer: str
    style: str
    #: The policy that chose the route.
    policy: str
    #: `self`, the model's memory, or `corpus`, or the name of a corpus.
    route: str
    #: Why.
    reason: str
    #: What the policy measured: larger means more need of retrieval. None if it measures nothing.
    score: float | None = None
    #: Whether a signal that was to decide could not tell.
    cannot_tell: bool = False
    #: The short answer that was withheld, if one was.
    withheld: str | None = None
    choices: list[str] = field(default_factory=list)
    #: The letter of the choice that the answer names.
    choice: str | None = None
    truncated: bool = False
    #: Why there is no answer, or not all of one.
    lack: str | None = None
    citations: list[Citation] = field(default_factory=list)
    #: The documents whose files the question names, and in which alone passages were searched: the first ten.
    named_documents: list[str] = field(default_factory=list)
    retrieved: list[Retrieved] = field(default_factory=list)
    #: Calls of the model and the retriever.
    calls: dict[str, int] = field(default_factory=dict)
    #: Tokens read and written over all calls.
    tokens: dict[str, int] = field(default_factory=dict)
    #: Milliseconds by stage, and `total`.
    timing_ms: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.answer

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Answer:
        inner = {
            "citations": [Citation.of(citation) for citation in fields.get("citations", [])],
            "retrieved": [Retrieved.of(passage) for passage in fields.get("retrieved", [])],
        }
        return super().of({**fields, **inner})


@dataclass(frozen=True)
class Known(Result):
    """What a policy measures about a question before any search."""

    #: The policy that judges.
    policy: str
    #: Its number: larger means more need of retrieval. None if it cannot tell.
    score: float | None
    #: The question retrieves above it.
    threshold: float
    #: Whether the policy would retrieve.
    retrieves: bool
    #: Why.
    reason: str
    #: What the number is.
    measures: str
    #: The probability that the model answers right from memory, if the policy predicts it.
    probability: float | None = None
    #: Tokens read and written.
    tokens: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Generation(Result):
    """A text that a model wrote. `str()` gives it."""

    text: str
    #: Why it ended: `end`, `stop_string`, `length`, `cancelled` and, behind an endpoint, others.
    finish: str
    #: Tokens of the prompt.
    prompt_tokens: int
    #: The ids of its tokens; None behind an endpoint.
    tokens: list[int] | None = None
    #: The natural-log probability of each token at temperature 1, and of the end if the model ended it.
    logprobs: list[float] | None = None

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Score(Result):
    """How likely a model finds a continuation. `float()` gives the sum."""

    #: The ids of its tokens.
    tokens: list[int]
    #: The natural-log probability of each token, given all before it.
    logprobs: list[float]
    #: Their sum: the log probability of the continuation.
    sum: float

    def __float__(self) -> float:
        return self.sum
