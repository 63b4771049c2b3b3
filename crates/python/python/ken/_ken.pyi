"""The extension. What it returns as text is JSON; the classes of the package make results of that."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, final

from typing_extensions import Self

__all__ = ["Corpus", "Embedder", "Model", "Pipeline", "Stop", "VERSION", "main"]

VERSION: str

_Path = str | os.PathLike[str]
_Progress = Callable[[str, int, int | None], object] | None

def main(arguments: Sequence[str]) -> int: ...

@final
class Stop:
    def __new__(cls) -> Self: ...
    def set(self) -> None: ...

@final
class Model:
    def __new__(
        cls,
        settings: Mapping[str, Any],
        config: _Path | None = None,
        progress: _Progress = None,
        stop: Stop | None = None,
    ) -> Self: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def context_tokens(self) -> int: ...
    @property
    def begin_of_text(self) -> str | None: ...
    def count_tokens(self, text: str) -> int: ...
    def generate(
        self,
        prompts: Sequence[str | Sequence[tuple[str, str]]],
        max_tokens: int,
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        seed: int,
        stop_strings: Sequence[str],
        samples: int,
        on_text: Callable[[str, tuple[int, int]], object] | None = None,
        stop: Stop | None = None,
    ) -> str: ...
    def score(self, requests: Sequence[tuple[str, Sequence[str]]], stop: Stop | None = None) -> str: ...
    @property
    def layers(self) -> int | None: ...
    def hidden(self, texts: Sequence[str], layer: int, stop: Stop | None = None) -> tuple[bytes, int]: ...

@final
class Embedder:
    def __new__(
        cls,
        settings: Mapping[str, Any],
        config: _Path | None = None,
        progress: _Progress = None,
        stop: Stop | None = None,
    ) -> Self: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def dimensions(self) -> int: ...
    @property
    def max_tokens(self) -> int | None: ...
    def embed(self, texts: Sequence[str], as_query: bool, stop: Stop | None = None) -> bytes: ...

@final
class Corpus:
    def __new__(cls, settings: Mapping[str, Any], config: _Path | None = None) -> Self: ...
    @property
    def address(self) -> str: ...
    def exists(self) -> bool: ...
    def info(self) -> str: ...
    def refresh(self) -> None: ...
    def ingest(
        self,
        paths: Sequence[_Path],
        records: Iterator[str] | None,
        reading: Mapping[str, Any],
        taking: Mapping[str, Any],
        progress: _Progress = None,
        stop: Stop | None = None,
    ) -> str: ...
    def search(
        self,
        queries: Sequence[str],
        k: int | None,
        mode: str | None,
        filters: Sequence[str],
        progress: _Progress = None,
        stop: Stop | None = None,
    ) -> str: ...
    def documents(self, after: str | None, limit: int) -> str: ...
    def delete(self, ids: Sequence[str]) -> str: ...
    def history(self) -> str: ...
    def rollback(self, generation: int) -> str: ...
    def vectors(self, stop: Stop | None = None) -> tuple[list[str], bytes, int]: ...

@final
class Pipeline:
    def __new__(
        cls,
        settings: Mapping[str, Any],
        config: _Path | None = None,
        model: Model | None = None,
        corpus: Corpus | None = None,
        progress: _Progress = None,
        stop: Stop | None = None,
    ) -> Self: ...
    @property
    def policy(self) -> str: ...
    def ask(
        self,
        question: str,
        choices: Sequence[str],
        on_text: Callable[[str], object] | None = None,
        stop: Stop | None = None,
    ) -> str: ...
    def ask_many(
        self,
        questions: Sequence[tuple[str, Sequence[str]]],
        progress: _Progress = None,
        stop: Stop | None = None,
    ) -> list[Any]: ...
    def decide(self, question: str, stop: Stop | None = None) -> str: ...
    def knows(self, question: str, policy: str | None = None, stop: Stop | None = None) -> str: ...
