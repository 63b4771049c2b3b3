"""A model for lm-evaluation-harness. Needs `pip install ken-rag[lm-eval]`; after `import ken.lm_eval`, the harness knows
it as `ken`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.model import LM
from lm_eval.api.registry import register_model

from .model import Model

#: Requests computed together.
_TOGETHER = 64


@register_model("ken")
class KenLM(LM):
    """A model on this machine, from which the harness requests likelihoods and texts.

    Args:
        pretrained: A `Model`, or the name of one.
        prefix: The start of a text that is scored from its beginning; by default the model's beginning-of-text
            token, or else its end-of-text token.
        max_gen_toks: The default for the longest text, in tokens.
        **settings: Settings of `ken.toml`. The precision is `f32` by default, as the harness compares exact numbers.
    """

    def __init__(
        self,
        pretrained: Any = None,
        prefix: str | None = None,
        max_gen_toks: int = 256,
        batch_size: Any = None,
        device: Any = None,
        max_batch_size: Any = None,
        **settings: Any,
    ) -> None:
        super().__init__()
        self._model = pretrained if isinstance(pretrained, Model) else Model(pretrained, **{"precision": "f32", **settings})
        self._prefix: str = prefix or self._model._model.begin_of_text or "\n"
        self._max_tokens = int(max_gen_toks)

    def loglikelihood(self, requests: list[Instance], disable_tqdm: bool = False) -> list[tuple[float, bool]]:
        """The log probability of each continuation after its context, and whether it is the most likely one."""
        asked = [self._split(*request.args) for request in requests]
        return [result for batch in _batches(asked) for result in self._scored(batch)]

    def loglikelihood_rolling(self, requests: list[Instance], disable_tqdm: bool = False) -> list[float]:
        """The log probability of each text as a whole. A text that is longer than the context is refused."""
        texts = [request.args[0] for request in requests]
        return [
            scores[0].sum
            for batch in _batches(texts)
            for scores in self._model.score_many([(self._prefix, [text]) for text in batch])
        ]

    def generate_until(self, requests: list[Instance], disable_tqdm: bool = False) -> list[str]:
        """The model's continuation of each context, up to a stop."""
        return [self._written(*request.args) for request in requests]

    def _split(self, context: str, continuation: str) -> tuple[str, str]:
        """White space at the end of a context belongs to the continuation, whose tokens begin with it."""
        kept = context.rstrip()
        return kept or self._prefix, context[len(kept) :] + continuation

    def _scored(self, asked: list[tuple[str, str]]) -> list[tuple[float, bool]]:
        scores = [scores[0] for scores in self._model.score_many([(before, [text]) for before, text in asked])]
        longest: dict[str, int] = {}
        for (before, _), score in zip(asked, scores):
            longest[before] = max(longest.get(before, 0), len(score.tokens))
        likely = {before: self._model.generate(before, max_tokens=most).tokens for before, most in longest.items()}
        return [
            (score.sum, (likely[before] or [])[: len(score.tokens)] == score.tokens)
            for (before, _), score in zip(asked, scores)
        ]

    def _written(self, context: str, options: dict[str, Any]) -> str:
        until = options.get("until") or []
        samples = bool(options.get("do_sample")) or float(options.get("temperature", 0)) > 0
        return self._model.generate(
            context,
            max_tokens=int(options.get("max_gen_toks", self._max_tokens)),
            temperature=float(options.get("temperature", 1)) if samples else 0.0,
            stop=[until] if isinstance(until, str) else until,
        ).text


def _batches(items: list[Any]) -> Iterable[list[Any]]:
    return (items[start : start + _TOGETHER] for start in range(0, len(items), _TOGETHER))
