"""Ragas, with a model of ken as its judge and an embedder of ken as its embeddings."""

from __future__ import annotations

import os
import unittest.mock
import warnings

import ken
from ken.langchain import KenChat, KenEmbeddings

from .shelf import EMBEDDER, Shelf, model

QUESTIONS = [
    {"question": "At which berth is the Marigold moored?", "golden": "19", "passage": "boat#0"},
    {"question": "When was the bell of Ostrava cast?", "golden": "1734", "passage": "bell#0"},
]


class Evaluating(Shelf):
    def test_metrics_of_passages_of_vectors_and_of_a_judge(self) -> None:
        with warnings.catch_warnings(action="ignore"):
            from ragas import EvaluationDataset, evaluate
            from ragas.metrics import ContextRelevance, IDBasedContextPrecision, IDBasedContextRecall, SemanticSimilarity
        pipeline = ken.Pipeline(self.corpus(), model(), "always", k=2)
        rows = []
        for question in QUESTIONS:
            answer = pipeline.ask(question["question"])
            rows.append(
                {
                    "user_input": answer.question,
                    "response": answer.answer,
                    "reference": question["golden"],
                    "retrieved_contexts": [passage.text for passage in answer.retrieved],
                    "retrieved_context_ids": [passage.passage_id for passage in answer.retrieved],
                    "reference_context_ids": [question["passage"]],
                }
            )
        embedder = ken.Embedder(EMBEDDER)
        own = unittest.mock.patch.dict(os.environ, XDG_DATA_HOME=str(self.folder))
        with own, warnings.catch_warnings(action="ignore"):
            result = evaluate(
                EvaluationDataset.from_list(rows),
                [IDBasedContextPrecision(), IDBasedContextRecall(), SemanticSimilarity(), ContextRelevance()],
                llm=KenChat(model=model(), max_tokens=32),
                embeddings=KenEmbeddings(embedder),
                raise_exceptions=True,
                show_progress=False,
            )
        self.assertEqual(result["id_based_context_precision"], [0.5, 0.5])
        self.assertEqual(result["id_based_context_recall"], [1, 1])
        for row, similarity in zip(rows, result["semantic_similarity"]):
            reference, response = embedder.embed([row["reference"], row["response"]])
            self.assertAlmostEqual(similarity, float(reference @ response), places=4)
        for rating in result["nv_context_relevance"]:
            self.assertTrue(0 <= rating <= 1, "the judge gave no rating")
