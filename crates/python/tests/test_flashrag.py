"""FlashRAG's own pipelines, with ken as their retriever, generator and judger."""

from __future__ import annotations

import collections
import contextlib
import io
import unittest.mock
from typing import Any

import ken
from ken.flashrag import KenGenerator, KenRetriever, assemble

from .shelf import DOCUMENTS, Shelf, model
from .test_documents import examples

QUESTIONS = [
    {"id": "boat", "question": "At which berth is the Marigold moored?", "golden_answers": ["19"]},
    {"id": "paris", "question": "What is the capital of France?", "golden_answers": ["Paris"]},
    {"id": "bell", "question": "When was the bell of Ostrava cast?", "golden_answers": ["1734"]},
]


class Parts(Shelf):
    def test_records_are_those_that_pipelines_read(self) -> None:
        retriever = KenRetriever(self.corpus([*DOCUMENTS, ("tea", "Tea is served at four.")]), topk=2)
        [best], scores = retriever.search("Where is the Marigold?", num=1, return_score=True)
        self.assertEqual((best["id"], best["title"], best["text"]), ("boat#0", "The boat", DOCUMENTS[1]["text"]))
        self.assertEqual((best["contents"].split("\n")[0], len(scores)), ("The boat", 1))
        [untitled] = retriever.search("When is tea served?", num=1)
        self.assertEqual(untitled["contents"], "\nTea is served at four.")
        self.assertEqual([len(found) for found in retriever.batch_search(["Marigold", "bell"])], [2, 2])

    def test_texts_and_conversations_are_continued(self) -> None:
        generator = KenGenerator(model(), max_tokens=4)
        text = "The capital of France is"
        [written] = generator.generate(text)
        self.assertEqual(written, model().generate(text, max_tokens=4).text)
        turns = [{"role": "assistant", "content": "Answer in a word."}, {"role": "user", "content": "The capital of France?"}]
        expected = model().generate([{**turns[0], "role": "system"}, turns[1]], max_tokens=4).text
        self.assertEqual(generator.generate(turns), [expected])
        self.assertEqual(generator.generate([turns, text], batch_size=1), [expected, written])
        texts, scores = generator.generate([text], return_scores=True, max_new_tokens=2, do_sample=False)
        self.assertTrue(all(0 < score <= 1 for score in scores[0]), scores)
        self.assertEqual((len(scores[0]), written.startswith(texts[0])), (2, True))

    def test_what_it_cannot_do_is_refused(self) -> None:
        with self.assert_fails("bad_argument", "return_raw_output"):
            KenGenerator(model()).generate(["x"], return_raw_output=True)


class Pipelines(Shelf):
    def setUp(self) -> None:
        super().setUp()
        import tiktoken

        # Pipelines measure prompts with a vocabulary that tiktoken would download: here, a token is a byte.
        tokens = {bytes([byte]): byte for byte in range(256)}
        vocabulary = tiktoken.Encoding("bytes", pat_str=r"(?s:.)", mergeable_ranks=tokens, special_tokens={})
        kept = unittest.mock.patch("tiktoken.encoding_for_model", return_value=vocabulary)
        kept.start()
        self.addCleanup(kept.stop)
        self.shelf = self.corpus()
        self.retriever = KenRetriever(self.shelf, topk=1)
        self.generator = KenGenerator(model(), max_tokens=16)
        # What FlashRAG's Config holds where nothing is chosen; the package of PyPI lacks the file that Config reads first.
        self.config: dict[str, Any] = collections.defaultdict(lambda: None)
        self.config.update(
            framework="openai", generator_max_input_len=4096, dataset_name="shelf", metrics=["em", "acc"], save_dir="."
        )

    def dataset(self) -> Any:
        """The questions as FlashRAG's data set."""
        from flashrag.dataset import Dataset
        from flashrag.dataset.dataset import Item

        return Dataset(self.config, data=[Item(dict(question, output={})) for question in QUESTIONS])

    def run_quietly(self, pipeline: Any) -> Any:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return pipeline.run(self.dataset())

    def test_the_sequential_one(self) -> None:
        from flashrag.pipeline import SequentialPipeline

        pipeline = SequentialPipeline(self.config, retriever=self.retriever, generator=self.generator)
        answered = self.run_quietly(pipeline)
        self.assertEqual([found[0]["id"] for found in answered.retrieval_result][::2], ["boat#0", "bell#0"])
        self.assertIn("Doc 1(Title: The boat) The Marigold is moored at berth 19.", answered.prompt[0][0]["content"])
        self.assertEqual(answered.pred, self.generator.generate(answered.prompt))
        right = [score["acc"] for score in answered.metric_score]
        self.assertEqual((right[0], right[2]), (1, 1), answered.pred)

    def test_the_conditional_one_retrieves_where_the_policy_does(self) -> None:
        names: dict[str, Any] = {"ken": ken, "shelf": self.shelf, "model": model(), "config": self.config}
        [example] = [one for one in examples("how-to/use-ken-from-python.md") if "flashrag" in one]
        exec(compile(example, "the guide", "exec"), names)
        answered = self.run_quietly(names["pipeline"])
        self.assertEqual(answered.judge_result, [True, False, True])
        self.assertEqual(answered.judge_result, [names["judging"].knows(one["question"]).retrieves for one in QUESTIONS])
        self.assertEqual(["retrieval_result" in one.output for one in answered], [True, False, True])
        self.assertEqual([score["acc"] for score in answered.metric_score], [1, 1, 1], answered.pred)

    def test_one_that_inherits_from_the_iterative_one(self) -> None:
        from flashrag.pipeline import IterativePipeline

        class Inheriting(IterativePipeline):  # type: ignore[misc]
            pass

        parts = {"retriever": self.retriever, "generator": self.generator}
        pipeline = assemble(Inheriting, self.config, **parts, iter_num=2)
        answered = self.run_quietly(pipeline)
        self.assertEqual(answered.pred, answered.pred_iter_1)
        self.assertEqual(answered.retrieval_result[0][0]["id"], "boat#0")
