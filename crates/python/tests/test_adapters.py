"""The adapters, in the frameworks that they are for."""

from __future__ import annotations

import asyncio
import importlib.util
import math
import threading
import time
import unittest
from typing import Any

import ken

from .shelf import DOCUMENTS, EMBEDDER, MODEL, Shelf, model

QUERY = "Where is the Marigold?"
CONTEXT = "The capital of France is"
TURNS = [
    {"role": "system", "content": "Answer in a word."},
    {"role": "user", "content": "The capital of France?"},
]


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
        written = model().generate(TURNS, max_tokens=8)
        self.assertEqual(answer.content, written.text)
        self.assertEqual(answer.usage_metadata["output_tokens"], len(written.tokens))
        self.assertEqual(asyncio.run((prompt | chat).ainvoke({"country": "France"})).content, written.text)
        short = (prompt | chat.bind(max_tokens=1)).invoke({"country": "France"})
        self.assertEqual(short.response_metadata["finish_reason"], "length")
        whole = (prompt | chat.bind(max_tokens=64)).invoke({"country": "France"})
        self.assertEqual(whole.response_metadata["finish_reason"], "stop")
        self.assertEqual("".join(part.content for part in chat.stream("Hello")), chat.invoke("Hello").content)

    def test_llamaindex(self) -> None:
        from ken.llamaindex import KenLLM
        from llama_index.core.llms import ChatMessage

        llm = KenLLM(model=model(), max_tokens=8)
        told = (llm.metadata.context_window, llm.metadata.num_output, llm.metadata.model_name)
        self.assertEqual(told, (model().context_tokens, 8, model().fingerprint))
        messages = [ChatMessage(**turn) for turn in TURNS]
        written = model().generate(TURNS, max_tokens=8)
        answer = llm.chat(messages)
        self.assertEqual((answer.message.role.value, answer.message.content), ("assistant", written.text))
        self.assertEqual(answer.raw["usage"]["completion_tokens"], len(written.tokens))
        self.assertEqual(llm.chat(messages, max_tokens=1).raw["finish_reason"], "length")
        self.assertEqual(asyncio.run(llm.achat(messages)).message.content, written.text)
        continued = model().generate(CONTEXT, max_tokens=8).text
        self.assertEqual(llm.complete(CONTEXT).text, continued)
        self.assertEqual(asyncio.run(llm.acomplete(CONTEXT)).text, continued)

    def test_streams_of_llamaindex(self) -> None:
        from ken.llamaindex import KenLLM
        from llama_index.core.llms import ChatMessage

        llm = KenLLM(model=model(), max_tokens=8)
        messages = [ChatMessage(**turn) for turn in TURNS]

        async def listed(stream: Any) -> list[Any]:
            return [part async for part in await stream]

        for parts, whole in (
            (list(llm.stream_complete(CONTEXT)), llm.complete(CONTEXT)),
            (asyncio.run(listed(llm.astream_complete(CONTEXT))), llm.complete(CONTEXT)),
            (list(llm.stream_chat(messages)), llm.chat(messages)),
            (asyncio.run(listed(llm.astream_chat(messages))), llm.chat(messages)),
        ):
            self.assertEqual((str(parts[-1]), parts[-1].raw), (str(whole), whole.raw))
            self.assertTrue(str(whole).endswith("".join(part.delta for part in parts)))
        self.assertGreater(len(list(llm.stream_complete(CONTEXT))), 2)

    def test_a_stream_of_llamaindex_that_is_closed_is_not_written_to_its_end(self) -> None:
        from ken.llamaindex import KenLLM

        llm = KenLLM(model=model(), max_tokens=8)
        threads, begin = threading.active_count(), time.monotonic()
        stream = llm.stream_complete(CONTEXT, max_tokens=4000)
        next(stream)
        self.assertEqual(threading.active_count(), threads + 1)
        stream.close()
        self.assertEqual(threading.active_count(), threads)
        self.assertLess(time.monotonic() - begin, 5)
        with self.assert_fails("bad_argument"):
            list(llm.stream_complete(CONTEXT, temperature=-1.0))

    def test_haystack(self) -> None:
        from haystack import Pipeline
        from haystack.dataclasses import ChatMessage

        from ken.haystack import KenChatGenerator, KenGenerator

        pipeline = Pipeline()
        pipeline.add_component("writer", KenGenerator(model(), {"max_tokens": 8}))
        pipeline.add_component("speaker", KenChatGenerator(MODEL, {"max_tokens": 8}, settings={"device": "cpu"}))
        again = Pipeline.loads(pipeline.dumps(), allowed_modules=["ken.haystack"])
        messages = [ChatMessage.from_system(TURNS[0]["content"]), ChatMessage.from_user(TURNS[1]["content"])]
        spoken, continued = model().generate(TURNS, max_tokens=8), model().generate(CONTEXT, max_tokens=8)
        for one in (pipeline, again):
            told = one.run({"writer": {"prompt": CONTEXT}, "speaker": {"messages": messages}})
            self.assertEqual(told["writer"]["replies"], [continued.text])
            [meta] = told["writer"]["meta"]
            self.assertEqual((meta["model"], meta["finish_reason"]), (model().fingerprint, "length"))
            [reply] = told["speaker"]["replies"]
            self.assertEqual((reply.role.value, reply.text), ("assistant", spoken.text))
            self.assertEqual(reply.meta["usage"]["completion_tokens"], len(spoken.tokens))
        stopped = {"prompt": CONTEXT, "generation_kwargs": {"stop": ["Paris"]}}
        [meta] = KenGenerator(model(), {"max_tokens": 8}).run(**stopped)["meta"]
        self.assertEqual(meta["finish_reason"], "stop")


class Answering(Shelf):
    def test_a_query_engine_of_llamaindex(self) -> None:
        from ken.llamaindex import KenLLM, KenRetriever
        from llama_index.core.query_engine import RetrieverQueryEngine

        retriever = KenRetriever(self.corpus(), k=1)
        engine = RetrieverQueryEngine.from_args(retriever, llm=KenLLM(model=model(), max_tokens=24))
        response = engine.query("At which berth is the Marigold moored?")
        self.assertIn("19", str(response))
        [source] = response.source_nodes
        self.assertEqual(source.node.get_content("llm"), f"year: 1990\ntitle: The boat\n\n{DOCUMENTS[1]['text']}")

    def test_a_pipeline_in_llamaindex(self) -> None:
        from ken.llamaindex import KenQueryEngine
        from llama_index.core.tools import QueryEngineTool

        question = "At which berth is the Marigold moored?"
        pipeline = ken.Pipeline(self.corpus(), model(), "always", k=2, evidence_tokens=30)
        answer = pipeline.ask(question)
        engine = KenQueryEngine(pipeline)
        response = engine.query(question)
        self.assertEqual((str(response), response.metadata["route"]), (answer.answer, "corpus"))
        self.assertEqual(response.metadata["reason"], answer.reason)
        self.assertEqual([one["passage_id"] for one in response.metadata["citations"]], ["boat#0"])
        read = [(passage.passage_id, passage.text) for passage in answer.retrieved if passage.in_prompt]
        self.assertEqual((len(answer.retrieved), len(read)), (2, 1))
        self.assertEqual([(node.node_id, node.text) for node in response.source_nodes], read)
        self.assertEqual(response.source_nodes[0].metadata["title"], "The boat")
        self.assertEqual(asyncio.run(engine.aquery(question)).response, answer.answer)
        self.assertEqual(QueryEngineTool.from_defaults(engine)(question).content, answer.answer)
        remembered = KenQueryEngine(ken.Pipeline(self.corpus(), model(), "never")).query(question)
        self.assertEqual((remembered.metadata["route"], remembered.source_nodes), ("self", []))

    def test_a_pipeline_of_haystack(self) -> None:
        from haystack import Pipeline
        from haystack.components.builders import ChatPromptBuilder
        from haystack.dataclasses import ChatMessage

        from ken.haystack import KenChatGenerator, KenRetriever

        asked = "{% for document in documents %}{{ document.content }}\n{% endfor %}Question: {{ query }}"
        pipeline = Pipeline()
        pipeline.add_component("retriever", KenRetriever(self.corpus(), top_k=1))
        pipeline.add_component("builder", ChatPromptBuilder([ChatMessage.from_user(asked)], required_variables="*"))
        pipeline.add_component("generator", KenChatGenerator(model(), {"max_tokens": 24}))
        pipeline.connect("retriever.documents", "builder.documents")
        pipeline.connect("builder.prompt", "generator.messages")
        query = "At which berth is the Marigold moored?"
        told = pipeline.run({"retriever": {"query": query}, "builder": {"query": query}})
        self.assertIn("19", told["generator"]["replies"][0].text)


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

        paris, rome, spaced = harness.loglikelihood(
            [asked("loglikelihood", *pair) for pair in ((CONTEXT, " Paris"), (CONTEXT, " Rome"), (CONTEXT + " ", "Paris"))]
        )
        self.assertEqual((paris[1], rome[1]), (True, False))
        self.assertGreater(paris[0], rome[0])
        self.assertTrue(math.isclose(paris[0], spaced[0], abs_tol=1e-3))
        [text] = harness.generate_until([asked("generate_until", CONTEXT, {"until": ["."], "max_gen_toks": 12})])
        self.assertIn("Paris", text)
        [whole] = harness.loglikelihood_rolling([asked("loglikelihood_rolling", CONTEXT)])
        self.assertLess(whole, 0)
