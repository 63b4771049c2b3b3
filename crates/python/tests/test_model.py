"""Models from Python: what they write and how likely they find it."""

from __future__ import annotations

import math
import subprocess
import sys
import json

import ken

from .shelf import EMBEDDER, MODEL, Shelf, model

PROMPT = "The capital of France is"


class Scoring(Shelf):
    def test_a_score_is_that_of_the_command_line(self) -> None:
        score = model().score(PROMPT, " Paris")
        told = subprocess.run(
            [sys.executable, "-m", "ken", "model", "score", MODEL, "--prompt", PROMPT, "--continuation", " Paris", "--json"],
            capture_output=True,
            text=True,
            check=True,
        )
        self.assertEqual(json.loads(told.stdout)["logprobs"], score.logprobs)
        self.assertTrue(math.isclose(float(score), sum(score.logprobs), rel_tol=1e-6))

    def test_several_continuations_in_their_order(self) -> None:
        cities = [" Paris", " Rome", " Berlin"]
        together = model().score(PROMPT, cities)
        self.assertEqual([len(score.tokens) > 0 for score in together], [True] * 3)
        self.assertEqual(max(cities, key=lambda city: together[cities.index(city)].sum), " Paris")
        for city, score in zip(cities, together):
            self.assertTrue(math.isclose(model().score(PROMPT, city).sum, score.sum, abs_tol=1e-3))
        self.assertEqual(len(model().score_many([(PROMPT, cities), ("2 + 2 =", [" 4"])])[1]), 1)

    def test_what_is_written_is_as_likely_as_it_is_scored(self) -> None:
        written = model().generate(PROMPT, max_tokens=2)
        score = model().score(PROMPT, written.text)
        self.assertEqual(score.tokens, written.tokens)
        for one, other in zip(score.logprobs, written.logprobs):
            # Text is written with integers and scored without.
            self.assertTrue(math.isclose(one, other, abs_tol=0.3), (one, other))


class Hidden(Shelf):
    def test_states_are_of_the_last_token(self) -> None:
        layers = model().layers or 0
        texts = ["The capital of France is", "Where is", "It"]
        last = model().hidden(texts, layers)
        self.assertEqual((last.shape, layers), ((3, 576), 30))
        self.assertTrue((model().hidden(texts[:1], layers)[0] == last[0]).all())
        # Before the first layer, nothing but the token itself is known.
        first, second, other = model().hidden(texts, 0)
        self.assertTrue((first == second).all() and (first != other).any())
        self.assertFalse((last[0] == last[1]).all())
        self.assertEqual(model().hidden([], 0).shape, (0, 576))
        with self.assertRaises(ken.KenError):
            model().hidden(texts, layers + 1)
        with self.assertRaises(TypeError):
            model().hidden("It", 1)


class Writing(Shelf):
    def test_greedy_and_sampled_text(self) -> None:
        greedy = model().generate(PROMPT, max_tokens=8)
        self.assertIn("Paris", str(greedy))
        self.assertEqual((greedy.finish, len(greedy.tokens)), ("length", 8))
        one, again, other = (model().generate(PROMPT, max_tokens=8, temperature=1, seed=seed) for seed in (1, 1, 2))
        self.assertEqual(one, again)
        self.assertNotEqual(one.tokens, other.tokens)
        samples = model().generate_many([PROMPT, "2 + 2 ="], max_tokens=3, temperature=1, samples=2)
        self.assertEqual([len(each) for each in samples], [2, 2])

    def test_stops_and_pieces(self) -> None:
        pieces: list[str] = []
        text = model().generate(PROMPT, max_tokens=20, stop=["."], on_text=pieces.append)
        self.assertEqual((text.finish, "".join(pieces)), ("stop_string", text.text))

    def test_a_conversation(self) -> None:
        answer = model().generate([{"role": "user", "content": "Say hello."}], max_tokens=20)
        self.assertGreater(len(answer.text), 0)
        self.assertNotIn("<|im_end|>", answer.text)

    def test_what_a_callback_raises_ends_the_call(self) -> None:
        def refuse(text: str) -> None:
            raise LookupError("enough")

        with self.assertRaisesRegex(LookupError, "enough"):
            model().generate(PROMPT, max_tokens=500, on_text=refuse)


class Embedding(Shelf):
    def test_vectors_have_shape_and_length(self) -> None:
        embedder = ken.Embedder(EMBEDDER)
        vectors = embedder.embed(["A bell.", "A boat.", "A ship."])
        self.assertEqual((vectors.shape, embedder.dimensions), ((3, 384), 384))
        self.assertTrue(math.isclose(float((vectors[0] ** 2).sum()), 1, abs_tol=1e-4))
        self.assertGreater(vectors[1] @ vectors[2], vectors[0] @ vectors[2])
        self.assertEqual(embedder.embed([]).shape, (0, 384))
        with self.assertRaises(ValueError):
            embedder.embed(["x"], role="poem")
        with self.assertRaises(TypeError):
            embedder.embed("x")
