"""The pipeline from Python: answers, decisions, and what the model knows."""

from __future__ import annotations

import asyncio

import ken

from .shelf import MODEL, Shelf, model

QUESTION = "At which berth is the Marigold moored?"


class Asking(Shelf):
    def test_an_answer_with_its_citation(self) -> None:
        pipeline = ken.Pipeline(self.corpus(), model(), "always", k=1)
        answer = pipeline.ask(QUESTION)
        self.assertIn("19", str(answer))
        self.assertEqual((answer.route, answer.policy), ("corpus", "always"))
        self.assertEqual([citation.doc_id for citation in answer.citations], ["boat"])
        self.assertTrue(answer.retrieved[0].in_prompt)
        self.assertIn("total", answer.timing_ms)
        self.assertEqual(answer.to_dict()["citations"][0]["doc_id"], "boat")

    def test_many_answers_are_those_of_each(self) -> None:
        pipeline = ken.Pipeline(self.corpus(), model(), "always", k=1)
        questions = [QUESTION, "When was the bell cast?"]
        many = pipeline.ask_many(questions)
        self.assertEqual([one.answer for one in many], [pipeline.ask(question).answer for question in questions])
        [letter] = pipeline.ask_many([("What is moored?", ["the Marigold", "a horse"])])
        self.assertEqual(letter.choices, ["the Marigold", "a horse"])

    def test_a_question_at_fault_does_not_take_the_others_with_it(self) -> None:
        pipeline = ken.Pipeline(self.corpus(), model(), "always", k=1)
        good, bad = pipeline.ask_many([QUESTION, " "], on_error="return")
        self.assertIsInstance(good, ken.Answer)
        self.assertEqual(bad.kind, "empty_question")
        with self.assert_fails("empty_question"):
            pipeline.ask_many([QUESTION, " "])
        with self.assertRaises(ValueError):
            pipeline.ask_many([QUESTION], on_error="ignore")

    def test_text_arrives_while_it_is_written(self) -> None:
        pieces: list[str] = []
        answer = ken.Pipeline(self.corpus(), model(), "always").ask(QUESTION, on_text=pieces.append)
        self.assertEqual("".join(pieces).strip(), answer.answer)

    def test_from_memory_and_from_names(self) -> None:
        pipeline = ken.Pipeline(model=MODEL, policy="never")
        self.assertEqual(pipeline.ask("What is the capital of France?").route, "self")
        named = ken.Pipeline(self.corpus().address, model(), "always")
        self.assertEqual(named.ask(QUESTION).route, "corpus")


class Deciding(Shelf):
    def test_a_decision_holds_the_evidence_and_no_answer(self) -> None:
        decision = ken.Pipeline(self.corpus(), model(), "always", k=2).decide(QUESTION)
        self.assertEqual((decision.route, decision.answer), ("corpus", ""))
        self.assertEqual(decision.retrieved[0].doc_id, "boat")

    def test_what_the_model_knows(self) -> None:
        pipeline = ken.Pipeline(self.corpus(), model(), "always")
        known = pipeline.knows(QUESTION)
        self.assertEqual(known.policy.split("@")[0], "prompt")
        self.assertEqual(known.retrieves, known.score > known.threshold)
        sampled = pipeline.knows("What is the capital of France?", "certainty@0.5")
        self.assertTrue(0 <= sampled.score <= 1)
        with self.assert_fails("policy_without_signal"):
            pipeline.knows(QUESTION, "always")


class Coroutines(Shelf):
    def test_several_are_answered_at_once(self) -> None:
        pipeline = ken.Pipeline(self.corpus(), model(), "always", k=1)

        async def all_of_them() -> list[ken.Answer]:
            return await asyncio.gather(pipeline.aask(QUESTION), pipeline.aask(QUESTION), pipeline.adecide(QUESTION))

        first, second, decided = asyncio.run(all_of_them())
        self.assertEqual(first.answer, second.answer)
        self.assertEqual(decided.answer, "")

    def test_a_cancelled_one_ends_its_work(self) -> None:
        async def cancelled() -> None:
            written = model().agenerate("Once upon a time", max_tokens=1500)
            await asyncio.wait_for(written, 0.2)

        with self.assertRaises(asyncio.TimeoutError):
            asyncio.run(cancelled())
        self.assertGreater(len(model().generate("Once", max_tokens=2).tokens), 0)
