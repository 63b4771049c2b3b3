"""Models: one that writes and scores text, and one that embeds it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Union, overload

from . import _ken
from ._async import in_thread
from ._optional import matrix
from ._progress import Progress, callback
from .results import Generation, Score

if TYPE_CHECKING:
    import numpy

#: A raw text to continue, or a conversation: `{"role": "user", "content": "…"}`, …
Prompt = Union[str, Sequence[Mapping[str, str]]]


class Model:
    """An open language model. Threads may share it; their calls are computed in one batch.

    Args:
        model: A reference (`hf:ORG/REPO/FILE`, `pypi:…`, the name of a known model), a path, or the URL of an
            OpenAI-compatible endpoint. Without it, that of `ken.toml`, or the default.
        config: A settings file to read instead of `ken.toml`.
        progress: True for a bar by tqdm, or a function of the work's name, the amount done, and the total.
        **settings: Settings of `ken.toml`, such as `adapter`, `precision`, `device`, `threads`.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        progress: Progress = None,
        **settings: Any,
    ) -> None:
        self._model = _ken.Model({"model": model, **settings}, config, callback(progress))
        self._name = model

    @property
    def fingerprint(self) -> str:
        """Identifies the model: measurements of one must not be used with another."""
        return self._model.fingerprint

    @property
    def context_tokens(self) -> int:
        """The most tokens that a prompt and its continuation may have together."""
        return self._model.context_tokens

    def count_tokens(self, text: str) -> int:
        """How many tokens a text has."""
        return self._model.count_tokens(text)

    def generate(
        self,
        prompt: Prompt,
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        stop: Iterable[str] = (),
        on_text: Callable[[str], object] | None = None,
    ) -> Generation:
        """Continues a prompt.

        Args:
            prompt: A raw text to continue, in which special tokens count as such; or a conversation, which is put in
                the model's chat format.
            max_tokens: The most tokens to write.
            temperature: 0 takes the most likely token at each step; 1 samples from the model as it is.
            top_k, top_p: Samples only among so many of the most likely tokens, or those that together have this
                probability.
            seed: The same seed gives the same text.
            stop: Texts that end the continuation; they are not part of it.
            on_text: Receives each piece of the text as soon as it is written.
        """
        pieces = None if on_text is None else lambda text, place: on_text(text)
        return self._generate([prompt], max_tokens, temperature, top_k, top_p, seed, stop, 1, pieces)[0][0]

    def generate_many(
        self,
        prompts: Iterable[Prompt],
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        stop: Iterable[str] = (),
        samples: int = 1,
    ) -> list[list[Generation]]:
        """As `generate`, for many prompts at once, each `samples` times: `[prompts][samples]`."""
        return self._generate(prompts, max_tokens, temperature, top_k, top_p, seed, stop, samples, None)

    async def agenerate(
        self,
        prompt: Prompt,
        *,
        max_tokens: int = 256,
        temperature: float = 0.0,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int = 0,
        stop: Iterable[str] = (),
    ) -> Generation:
        """As `generate`, without blocking the event loop."""
        written = await in_thread(
            self._generate, [prompt], max_tokens, temperature, top_k, top_p, seed, stop, 1, None
        )
        return written[0][0]

    @overload
    def score(self, prompt: str, continuations: str) -> Score: ...  # type: ignore[overload-overlap]

    @overload
    def score(self, prompt: str, continuations: Sequence[str]) -> list[Score]: ...

    def score(self, prompt: str, continuations: str | Sequence[str]) -> Score | list[Score]:
        """The log probabilities of continuations of a prompt, exactly as the model has them.

        Args:
            prompt: The text before, read once.
            continuations: One text, for one score; or several, for a list in their order. None may be empty.
                A continuation is split into tokens by itself: give the space that it begins with.
        """
        if isinstance(continuations, str):
            return self.score_many([(prompt, [continuations])])[0][0]
        return self.score_many([(prompt, continuations)])[0]

    def score_many(self, requests: Iterable[tuple[str, Sequence[str]]]) -> list[list[Score]]:
        """As `score`, for many prompts with their continuations at once: `[requests][continuations]`."""
        asked = [(prompt, list(continuations)) for prompt, continuations in requests]
        scores = json.loads(self._model.score(asked))
        return [[Score.of(score) for score in request] for request in scores]

    @property
    def layers(self) -> int | None:
        """How many layers the model has; None behind an endpoint."""
        return self._model.layers

    def hidden(self, texts: Iterable[str], layer: int) -> numpy.ndarray:
        """The hidden states at the last tokens of texts: the residual stream, which is not normalized.

        Args:
            texts: The raw texts.
            layer: After which layer: from 0, the token's embedding, to `layers`.

        Returns:
            32-bit floats of shape `(texts, width of the model)`.
        """
        if isinstance(texts, str):
            raise TypeError("hidden() takes several texts, such as [text]")
        states: numpy.ndarray = matrix(*self._model.hidden(list(texts), layer))
        return states

    def _generate(
        self,
        prompts: Iterable[Prompt],
        max_tokens: int,
        temperature: float,
        top_k: int | None,
        top_p: float | None,
        seed: int,
        stop_strings: Iterable[str],
        samples: int,
        on_text: Callable[[str, tuple[int, int]], object] | None,
        stop: _ken.Stop | None = None,
    ) -> list[list[Generation]]:
        if isinstance(stop_strings, str):
            stop_strings = [stop_strings]
        given = [prompt if isinstance(prompt, str) else _turns(prompt) for prompt in prompts]
        written = self._model.generate(
            given, max_tokens, temperature, top_k, top_p, seed, list(stop_strings), samples, on_text, stop
        )
        return [[Generation.of(text) for text in texts] for texts in json.loads(written)]

    def __repr__(self) -> str:
        return f"ken.Model({'' if self._name is None else repr(os.fspath(self._name))})"


def _turns(conversation: Sequence[Mapping[str, str]]) -> list[tuple[str, str]]:
    return [(turn["role"], turn["content"]) for turn in conversation]


class Embedder:
    """An open model that maps texts to vectors. Threads may share it.

    Args:
        embedder: A reference, a path, or an endpoint as URL or URL#NAME. Without it, that of `ken.toml`, or the
            default.
        config, progress, **settings: As of `Model`.
    """

    def __init__(
        self,
        embedder: str | os.PathLike[str] | None = None,
        *,
        config: str | os.PathLike[str] | None = None,
        progress: Progress = None,
        **settings: Any,
    ) -> None:
        self._embedder = _ken.Embedder({"embedder": embedder, **settings}, config, callback(progress))
        self._name = embedder

    @property
    def fingerprint(self) -> str:
        """Identifies the embedder: vectors of one must not be compared with those of another."""
        return self._embedder.fingerprint

    @property
    def dimensions(self) -> int:
        """The length of a vector."""
        return self._embedder.dimensions

    @property
    def max_tokens(self) -> int | None:
        """The longest text that is read whole, in tokens; None if the embedder does not tell."""
        return self._embedder.max_tokens

    def embed(self, texts: Iterable[str], *, role: str = "passage") -> numpy.ndarray:
        """The vectors of texts.

        Args:
            texts: The texts.
            role: `passage` for texts to search, `query` for queries.

        Returns:
            32-bit floats of shape `(texts, dimensions)`.
        """
        if isinstance(texts, str):
            raise TypeError("embed() takes several texts, such as [text]")
        if role not in ("passage", "query"):
            raise ValueError(f"a role is 'passage' or 'query', not {role!r}")
        vectors: numpy.ndarray = matrix(self._embedder.embed(list(texts), role == "query"), self.dimensions)
        return vectors

    def __repr__(self) -> str:
        return f"ken.Embedder({'' if self._name is None else repr(os.fspath(self._name))})"
