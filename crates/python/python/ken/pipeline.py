"""The pipeline: answers questions, with the passages that the answers rest on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Union, overload

from . import _ken
from ._async import in_thread
from ._errors import KenError
from ._progress import Progress, callback
from .corpus import Corpus, PathLike
from .model import Model
from .results import Answer, Known

#: A question, or one with its choices.
Question = Union[str, "tuple[str, Sequence[str]]"]


class Pipeline:
    """Answers questions: a policy decides whether to search for one, and the model answers from the passages found or
    from memory. Threads may share it.

    Args:
        corpus: A `Corpus`, which is shared, or the folder of one; without either, that of `ken.toml`.
        model: A `Model`, which is shared, or what names one.
        policy: When to retrieve: `always`, `never`, `documents`, `prompt`, `certainty@0.4`, … Without it, that of
            `ken.toml`, or what suits the model.
        config: A settings file to read instead of `ken.toml`.
        progress: True for a bar by tqdm, or a function of the work's name, the amount done, and the total.
        **settings: Settings of `ken.toml`, such as `k`, `mode`, `style`, `rerank`, `abstain`, `seed`.
    """

    def __init__(
        self,
        corpus: Corpus | PathLike | None = None,
        model: Model | PathLike | None = None,
        policy: str | None = None,
        *,
        config: PathLike | None = None,
        progress: Progress = None,
        **settings: Any,
    ) -> None:
        opened_model = model._model if isinstance(model, Model) else None
        opened_corpus = corpus._corpus if isinstance(corpus, Corpus) else None
        named = {
            "corpus": corpus.address if isinstance(corpus, Corpus) else corpus,
            "model": None if isinstance(model, Model) else model,
            "policy": policy,
        }
        self._pipeline = _ken.Pipeline(
            {**named, **settings}, config, opened_model, opened_corpus, callback(progress)
        )

    @property
    def policy(self) -> str:
        """The policy that decides."""
        return self._pipeline.policy

    def ask(
        self,
        question: str,
        *,
        choices: Sequence[str] = (),
        on_text: Callable[[str], object] | None = None,
    ) -> Answer:
        """Answers a question.

        Args:
            question: The question.
            choices: The choices, if there are any; the answer then names a letter.
            on_text: Receives each piece of the answer as soon as it is written.
        """
        return self._ask(question, choices, on_text)

    @overload
    def ask_many(
        self, questions: Iterable[Question], *, on_error: Literal["raise"] = "raise", progress: Progress = None
    ) -> list[Answer]: ...

    @overload
    def ask_many(
        self, questions: Iterable[Question], *, on_error: Literal["return"], progress: Progress = None
    ) -> list[Answer | KenError]: ...

    def ask_many(
        self,
        questions: Iterable[Question],
        *,
        on_error: str = "raise",
        progress: Progress = None,
    ) -> list[Answer] | list[Answer | KenError]:
        """Answers many questions, several at once. The answers are those of `ask`, except that greetings are
        searched for, too.

        Args:
            questions: Questions, or pairs of a question and its choices.
            on_error: `raise`, or `return` the error of a question that is itself at fault, such as one that is too
                long, instead of its answer.
            progress: As of the class.
        """
        return self._ask_many(questions, on_error, callback(progress))

    def decide(self, question: str) -> Answer:
        """Decides about a question without answering it: `route`, `reason`, and in `retrieved` the
        evidence that would be read."""
        return self._decide(question)

    def knows(self, question: str, policy: str | None = None) -> Known:
        """What a policy measures about a question before any search: whether the model knows the answer.

        Args:
            question: The question.
            policy: One that measures, such as `prompt`, `certainty` or `uncertainty:perplexity`; without it, that
                of the pipeline if it does, or else `prompt`, by which the model judges itself.
        """
        return self._knows(question, policy)

    async def aask(
        self,
        question: str,
        *,
        choices: Sequence[str] = (),
        on_text: Callable[[str], object] | None = None,
    ) -> Answer:
        """As `ask`, without blocking the event loop. `on_text` is called on another thread."""
        return await in_thread(self._ask, question, choices, on_text)

    @overload
    async def aask_many(
        self, questions: Iterable[Question], *, on_error: Literal["raise"] = "raise"
    ) -> list[Answer]: ...

    @overload
    async def aask_many(
        self, questions: Iterable[Question], *, on_error: Literal["return"]
    ) -> list[Answer | KenError]: ...

    async def aask_many(
        self, questions: Iterable[Question], *, on_error: str = "raise"
    ) -> list[Answer] | list[Answer | KenError]:
        """As `ask_many`, without blocking the event loop."""
        return await in_thread(self._ask_many, questions, on_error, None)

    async def adecide(self, question: str) -> Answer:
        """As `decide`, without blocking the event loop."""
        return await in_thread(self._decide, question)

    async def aknows(self, question: str, policy: str | None = None) -> Known:
        """As `knows`, without blocking the event loop."""
        return await in_thread(self._knows, question, policy)

    def __repr__(self) -> str:
        return f"ken.Pipeline(policy={self.policy!r})"

    def _ask(
        self,
        question: str,
        choices: Sequence[str],
        on_text: Callable[[str], object] | None,
        stop: _ken.Stop | None = None,
    ) -> Answer:
        return Answer.read(self._pipeline.ask(question, list(choices), on_text, stop))

    def _ask_many(
        self,
        questions: Iterable[Question],
        on_error: str,
        progress: Callable[..., object] | None,
        stop: _ken.Stop | None = None,
    ) -> list[Answer] | list[Answer | KenError]:
        if on_error not in ("raise", "return"):
            raise ValueError(f"on_error is 'raise' or 'return', not {on_error!r}")
        if isinstance(questions, str):
            raise TypeError("ask_many() takes several questions; ask() takes one")
        asked = [(item, []) if isinstance(item, str) else (item[0], list(item[1])) for item in questions]
        answers: list[Any] = []
        for answer in self._pipeline.ask_many(asked, progress, stop):
            if isinstance(answer, KenError) and on_error == "raise":
                raise answer
            answers.append(answer if isinstance(answer, KenError) else Answer.read(answer))
        return answers

    def _decide(self, question: str, stop: _ken.Stop | None = None) -> Answer:
        return Answer.read(self._pipeline.decide(question, stop))

    def _knows(self, question: str, policy: str | None, stop: _ken.Stop | None = None) -> Known:
        return Known.read(self._pipeline.knows(question, policy, stop))
