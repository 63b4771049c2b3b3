"""A corpus, a model and a policy as the retriever, the generator and the judger of FlashRAG's pipelines. None of them
imports FlashRAG itself (`pip install flashrag-dev`)."""

from __future__ import annotations

import contextlib
import math
import sys
import unittest.mock
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from ._errors import KenError
from .corpus import Corpus
from .model import Model, Prompt
from .pipeline import Pipeline
from .results import Generation, Hit

T = TypeVar("T")

Record = dict[str, Any]

#: Questions judged at once.
_TOGETHER = 16


class KenRetriever:
    """Finds passages of a corpus.

    Args:
        corpus: The corpus.
        topk: The default number of passages.
        mode: `dense`, `lexical` or `hybrid`.
    """

    def __init__(self, corpus: Corpus, topk: int = 5, mode: str | None = None) -> None:
        self._corpus, self.topk, self._mode = corpus, topk, mode

    def search(self, query: str, num: int | None = None, return_score: bool = False) -> Any:
        """The records that fit a query, best first; with `return_score`, their scores, too."""
        records, scores = self.batch_search([query], num, return_score=True)
        return (records[0], scores[0]) if return_score else records[0]

    def batch_search(self, query: str | list[str], num: int | None = None, return_score: bool = False) -> Any:
        """As `search`, for many queries: `[queries][num]`."""
        queries = [query] if isinstance(query, str) else query
        results = self._corpus.search_many(queries, num or self.topk, mode=self._mode)
        records = [[_record(hit) for hit in hits] for hits in results]
        scores = [[hit.score for hit in hits] for hits in results]
        return (records, scores) if return_score else records


def _record(hit: Hit) -> Record:
    # Pipelines read the first line of `contents` as the title.
    return {"id": hit.passage_id, "title": hit.title, "text": hit.text, "contents": f"{hit.title}\n{hit.text}"}


class KenGenerator:
    """Writes the answers to a pipeline's prompts.

    Args:
        model: The model.
        max_tokens: The default for the longest answer, in tokens.
        **sampling: Further arguments of `Model.generate_many`, such as `temperature`, `seed` and `stop`.
    """

    def __init__(self, model: Model, max_tokens: int = 32, **sampling: Any) -> None:
        self._model, self._sampling = model, {"max_tokens": max_tokens, **sampling}

    def generate(
        self,
        input_list: Prompt | Sequence[Prompt],
        batch_size: int | None = None,
        return_scores: bool = False,
        **params: Any,
    ) -> Any:
        """The texts that continue the prompts; with `return_scores`, the probability of each token, too.

        Args:
            input_list: A prompt or several. A text is continued as it stands; a conversation, which pipelines make with the
                framework `openai`, is put in the model's chat format.
            batch_size: Unused: ken forms its own batches.
            return_scores: Whether to return `(texts, probabilities)`; `probabilities` is `[prompts][tokens]`.
            **params: `max_tokens` or `max_new_tokens`, `temperature`, `do_sample`, `top_k`, `top_p`, `seed`, `stop`.
        """
        prompts: Sequence[Any] = [input_list] if _is_one(input_list) else input_list
        sampling = {**self._sampling, **_sampling(params)}
        samples = self._model.generate_many([_prompt(prompt) for prompt in prompts], **sampling)
        texts = [sample.text for [sample] in samples]
        return (texts, [_probabilities(sample) for [sample] in samples]) if return_scores else texts


def _is_one(prompts: Any) -> bool:
    return isinstance(prompts, str) or (len(prompts) > 0 and isinstance(prompts[0], Mapping))


def _prompt(prompt: Prompt) -> Prompt:
    """With the framework `openai`, FlashRAG gives the system's turn to the assistant."""
    if isinstance(prompt, str) or prompt[0]["role"] != "assistant":
        return prompt
    return [{**prompt[0], "role": "system"}, *prompt[1:]]


def _sampling(params: Mapping[str, Any]) -> dict[str, Any]:
    known = {"max_tokens", "temperature", "top_k", "top_p", "seed", "stop"}
    given = {"max_tokens" if name == "max_new_tokens" else name: value for name, value in params.items()}
    if given.pop("do_sample", True) is False:
        given["temperature"] = 0.0
    if unknown := given.keys() - known:
        remedy = f"leave it out, or use a pipeline that takes {', '.join(sorted(known))} only"
        raise KenError(f"a model of ken has no {', '.join(sorted(unknown))}", "bad_argument", remedy)
    return given


def _probabilities(written: Generation) -> list[float]:
    if written.logprobs is None:
        remedy = "use a model on this machine"
        raise KenError("a model behind an endpoint tells no probabilities here", "no_logprobs", remedy)
    return [math.exp(logprob) for logprob in written.logprobs]


class KenJudger:
    """Judges which questions need retrieval, as the policy of a pipeline of ken decides. FlashRAG's `ConditionalPipeline` takes
    a data set in which both kinds occur.

    Args:
        pipeline: The pipeline. Under a policy that measures before anything is searched, such as `prompt@0.5` or
            `uncertainty:perplexity@2`, a question that needs no retrieval costs no search.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def judge(self, dataset: Any) -> list[bool]:
        """Whether each question of a data set needs retrieval, in their order."""
        with ThreadPoolExecutor(_TOGETHER) as threads:
            return [decision.route != "self" for decision in threads.map(self._pipeline.decide, dataset.question)]


def assemble(
    kind: type[T],
    config: Any,
    *,
    retriever: Any = None,
    generator: Any = None,
    judger: Any = None,
    **options: Any,
) -> T:
    """A pipeline of FlashRAG with these parts. Classes such as `ConditionalPipeline` and `SuRePipeline` by themselves take
    only parts that their settings name.

    Args:
        kind: The class, or one that inherits from it.
        config: FlashRAG's settings.
        retriever, generator, judger: The parts; a part that is not given is FlashRAG's own, by the settings.
        **options: Further arguments of the class.
    """
    parts = {"get_retriever": retriever, "get_generator": generator, "get_judger": judger}
    with contextlib.ExitStack() as patches:
        for module in {sys.modules[base.__module__] for base in kind.__mro__}:
            for name, part in parts.items():
                if part is not None and hasattr(module, name):
                    patches.enter_context(unittest.mock.patch.object(module, name, _giving(part)))
        make: Callable[..., T] = kind
        return make(config, **options)


def _giving(part: Any) -> Callable[..., Any]:
    return lambda *_, **__: part
