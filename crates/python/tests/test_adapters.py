"""The adapters, in the frameworks that they are for."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import unittest

import ken

from .shelf import DOCUMENTS, EMBEDDER, Shelf, model

QUERY = "Where is the Marigold?"


class Retrievers(Shelf):
    def test_langchain(self) -> None:
        from ken.langchain import KenRetriever
        from langchain_core.runnables import RunnableLambda

        retriever = KenRetriever(corpus=self.corpus(), k=2, filter="year>0")
        [best, _] = retriever.invoke(QUERY)
        self.assertEqual((best.id, best.metadata["year"], best.metadata["title"]), ("boat#0", 1990, "The boat"))
        self.assertIn("berth 19", best.page_content)
        chain = retriever | RunnableLambda(len)
        self.assertEqual((chain.invoke(QUERY), asyncio.run(chain.ainvoke(QUERY))), (2, 2))
        self.assertEqual(len(retriever.batch([QUERY, "bell"])), 2)

    def test_dspy(self) -> None:
        import dspy

        from ken.dspy import KenRetriever

        class Looking(dspy.Module):
            def __init__(self, retriever: KenRetriever) -> None:
                super().__init__()
                self.retrieve = retriever

            def forward(self, question: str) -> dspy.Prediction:
                return self.retrieve(question)

        found = Looking(KenRetriever(self.corpus(), k=2, filter="year>0"))(question=QUERY)
        self.assertIn("berth 19", found.passages[0])
        self.assertEqual((found.metadata[0]["year"], len(found.scores)), (1990, 2))
        self.assertEqual(len(KenRetriever(self.corpus())(QUERY, k=1).passages), 1)

    def test_llamaindex(self) -> None:
        from ken.llamaindex import KenRetriever

        retriever = KenRetriever(self.corpus(), k=1, mode="hybrid")
        [best] = retriever.retrieve(QUERY)
        self.assertEqual((best.node.node_id, best.node.metadata["doc_id"]), ("boat#0", "boat"))
        self.assertGreater(best.score, 0)
        self.assertEqual(len(asyncio.run(retriever.aretrieve(QUERY))), 1)

    def test_haystack(self) -> None:
        from haystack import Pipeline

        from ken.haystack import KenRetriever

        pipeline = Pipeline()
        settings = {"moved_embedder": EMBEDDER}
        pipeline.add_component("retriever", KenRetriever(self.corpus().address, top_k=1, settings=settings))
        again = Pipeline.loads(pipeline.dumps(), allowed_modules=["ken.haystack"])
        for one in (pipeline, again):
            [best] = one.run({"retriever": {"query": QUERY}})["retriever"]["documents"]
            self.assertEqual((best.id, best.meta["year"]), ("boat#0", 1990))
        found = pipeline.run({"retriever": {"query": QUERY, "top_k": 3, "filter": "year<1800"}})
        self.assertEqual([document.id for document in found["retriever"]["documents"]], ["bell#0"])


class Embedding(Shelf):
    def test_langchain(self) -> None:
        from ken.langchain import KenEmbeddings
        from langchain_core.vectorstores import InMemoryVectorStore

        embedder = ken.Embedder(EMBEDDER)
        embeddings = KenEmbeddings(embedder)
        texts = [document["text"] for document in DOCUMENTS]
        self.assertEqual(embeddings.embed_documents(texts), embedder.embed(texts).tolist())
        self.assertEqual(embeddings.embed_query(QUERY), embedder.embed([QUERY], role="query")[0].tolist())
        store = InMemoryVectorStore.from_texts(texts, embeddings)
        self.assertEqual(store.similarity_search(QUERY, k=1)[0].page_content, texts[1])
        self.assertEqual(asyncio.run(store.asimilarity_search(QUERY, k=1))[0].page_content, texts[1])


class Chatting(Shelf):
    def test_langchain(self) -> None:
        from ken.langchain import KenChat
        from langchain_core.prompts import ChatPromptTemplate

        chat = KenChat(model=model(), max_tokens=8)
        prompt = ChatPromptTemplate([("system", "Answer in a word."), ("human", "The capital of {country}?")])
        answer = (prompt | chat).invoke({"country": "France"})
        conversation = [
            {"role": "system", "content": "Answer in a word."},
            {"role": "user", "content": "The capital of France?"},
        ]
        written = model().generate(conversation, max_tokens=8)
        self.assertEqual(answer.content, written.text)
        self.assertEqual(answer.usage_metadata["output_tokens"], len(written.tokens))
        self.assertEqual(asyncio.run((prompt | chat).ainvoke({"country": "France"})).content, written.text)
        short = (prompt | chat.bind(max_tokens=1)).invoke({"country": "France"})
        self.assertEqual(short.response_metadata["finish_reason"], "length")
        whole = (prompt | chat.bind(max_tokens=64)).invoke({"country": "France"})
        self.assertEqual(whole.response_metadata["finish_reason"], "stop")
        self.assertEqual("".join(part.content for part in chat.stream("Hello")), chat.invoke("Hello").content)


@unittest.skipUnless(importlib.util.find_spec("lm_eval"), "lm-eval is not installed")
class Harness(Shelf):
    def test_likelihoods_and_texts(self) -> None:
        from lm_eval.api.instance import Instance
        from lm_eval.api.registry import get_model

        import ken.lm_eval

        harness = get_model("ken")(model())
        self.assertIsInstance(harness, ken.lm_eval.KenLM)

        def asked(kind: str, *arguments: object) -> Instance:
            return Instance(request_type=kind, doc={}, arguments=arguments, idx=0)

        context = "The capital of France is"
        paris, rome, spaced = harness.loglikelihood(
            [asked("loglikelihood", *pair) for pair in ((context, " Paris"), (context, " Rome"), (context + " ", "Paris"))]
        )
        self.assertEqual((paris[1], rome[1]), (True, False))
        self.assertGreater(paris[0], rome[0])
        self.assertTrue(math.isclose(paris[0], spaced[0], abs_tol=1e-3))
        [text] = harness.generate_until([asked("generate_until", context, {"until": ["."], "max_gen_toks": 12})])
        self.assertIn("Paris", text)
        [whole] = harness.loglikelihood_rolling([asked("loglikelihood_rolling", context)])
        self.assertLess(whole, 0)
