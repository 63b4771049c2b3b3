"""Measurements from Python: the same numbers as the program's, as rows, tables and pages."""

from __future__ import annotations

import json
import subprocess
import sys

import ken

from .shelf import DOCUMENTS, EMBEDDER, MODEL, Shelf

QUESTIONS = [
    {"question": "When was the bell of Ostrava cast?", "golden_answers": ["1734"]},
    {"id": "boat", "question": "At which berth is the Marigold moored?", "golden_answers": ["19"]},
    {"id": "paris", "question": "What is the capital of France?", "golden_answers": ["Paris"]},
]


class Measuring(Shelf):
    def test_policies_are_compared(self) -> None:
        report = ken.compare(QUESTIONS, ["never", "always"], model=MODEL, corpus=self.corpus(), k=1)
        self.assertEqual([row["policy"] for row in report.rows], ["never", "always"])
        self.assertEqual((len(report), report["n"]), (2, 3))
        self.assertIn("vs_better.em_difference", report.rows[0])
        self.assertIn("<figure", report.html)
        self.assertIn("<dd>ken eval questions.jsonl", report.html)
        self.assertTrue(report._repr_html_().startswith("<iframe srcdoc="))
        frame = report.to_pandas()
        self.assertEqual(list(frame["policy"]), ["never", "always"])
        self.assertEqual(report.to_polars().height, 2)
        self.assertEqual(report.to_arrow().num_rows, 2)
        report.save("compared.html")
        self.assertEqual((self.folder / "compared.html").read_text(encoding="utf-8"), report.html)
        # Without a place, nothing is left.
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["compared.html", "shelf.ken"])

    def test_a_model_has_a_card(self) -> None:
        questions = [{**question, "kind": "far" if "France" in question["question"] else "here"} for question in QUESTIONS]
        questions = [{**question, "metadata": {"kind": question.pop("kind")}} for question in questions]
        report = ken.card(questions, model=MODEL, corpus=self.corpus(), k=1)
        self.assertEqual([(row["field"], row["value"], row["n"]) for row in report.rows],
                         [(None, None, 3), ("kind", "far", 1), ("kind", "here", 2)])
        self.assertIn("uncertainty:perplexity", [signal["signal"] for signal in report["signals"]])
        self.assertIn("<figure", report.html)

    def test_the_numbers_are_those_of_the_program(self) -> None:
        numbered = [json.dumps({"id": "bell", **question}) for question in QUESTIONS]
        (self.folder / "questions.jsonl").write_text("\n".join(numbered), encoding="utf-8")
        self.corpus()
        flags = ["--corpus", "shelf.ken", "--model", MODEL, "--samples", "2", "--json", "--out", "by_program.jsonl"]
        command = [sys.executable, "-m", "ken", "probe", "questions.jsonl", *flags]
        printed = subprocess.run(command, capture_output=True, check=True, encoding="utf-8").stdout
        report = ken.probe("questions.jsonl", model=MODEL, corpus="shelf.ken", samples=2, out="by_python.jsonl")
        samples = [json.loads(line)["samples"] for line in printed.splitlines()]
        self.assertEqual([record["samples"] for record in report.data], samples)
        self.assertEqual(report.rows[1]["greedy.corpus.correct"], True)
        self.assertTrue((self.folder / "by_python.jsonl").exists())
        threshold = ken.calibrate("by_python.jsonl", "certainty", samples=2, ratio=0.5)
        self.assertEqual(len(threshold.rows), 1)
        self.assertIn("<table>", threshold._repr_html_())

    def test_models_and_scales_are_studied(self) -> None:
        corpus = ken.Corpus(self.folder / "parts.ken", embedder=EMBEDDER)
        corpus.ingest([{"id": str(n), "text": f"Berth {n} is empty."} for n in range(6)], shards=2)
        report = ken.study(QUESTIONS, corpus, {"small": MODEL}, scales="0,2", out="study", ks=1)
        self.assertEqual([(row["model"], row["n"]) for row in report.rows], [("small", 2)])
        self.assertIn("compensation", report.data)
        self.assertIsNotNone(report.html)

    def test_what_the_model_knows_is_pruned(self) -> None:
        corpus = self.corpus([("paris", "The capital of France is Paris."), *((one["id"], one["text"]) for one in DOCUMENTS)])
        named = {"boat": "boat", "paris": "paris", None: "bell"}
        questions = [{**one, "metadata": {"gold_passage": named[one.get("id")]}} for one in QUESTIONS]
        ken.probe(questions, model=MODEL, samples=2, correct="contains", out="known.jsonl")
        labels = ken.label_mastery(corpus, model=MODEL, questions=questions, records="known.jsonl", out="mastery.jsonl")
        mastery = {row["passage_id"]: row["mastery"] for row in labels.rows}
        self.assertEqual((mastery["boat#0"], mastery["paris#0"] > 0), (0, True), mastery)
        pruning = {"method": "measured", "labels": "mastery.jsonl"}
        report = ken.prune_report(questions, corpus, model=MODEL, ratios="0,0.25", k=1, **pruning)
        self.assertEqual([(row["method"], row["passages"]) for row in report.rows], [("measured", 4), ("measured", 3), ("no corpus", 0)])
        self.assertEqual([row["coverage"] for row in report.rows][:1], [1])
        self.assertIn("<figure", report.html)
        self.assertEqual(ken.prune(corpus, ratio=0.25, dry_run=True, **pruning).rows[0]["pruned"], 1)
        self.assertEqual(len(corpus), 4)
        ken.prune(corpus, ratio=0.25, **pruning)
        self.assertEqual(len(corpus), 3)
        self.assertNotIn("paris", [hit.doc_id for hit in corpus.search("The capital of France", k=4)])
        with self.assert_fails("no_ratio"):
            ken.prune(corpus, **pruning)

    def test_errors_are_those_of_the_program(self) -> None:
        corpus = self.corpus()
        with self.assert_fails("too_few_questions"):
            ken.tune(QUESTIONS, model=MODEL, corpus=corpus)
        with self.assert_fails("usage"):
            ken.compare(QUESTIONS, ["never", "always"], model=MODEL, corpus=corpus, nothing="here")
        with self.assertRaises(TypeError):
            ken.probe(QUESTIONS, model=ken.Model(MODEL))  # type: ignore[arg-type]
        with self.assertRaises(TypeError):
            ken.probe(7)
