"""The guides' examples of many jobs: GNU parallel and Ray run the parts, and the whole is that of one run."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

import ken

from .shelf import EMBEDDER, MODEL, Shelf
from .test_documents import DOCUMENTS

QUESTIONS = [
    {"id": "bell", "question": "When was the bell of Ostrava cast?", "golden_answers": ["1734"]},
    {"id": "capital", "question": "What is the capital of France?", "golden_answers": ["Paris"]},
    {"id": "boat", "question": "At which berth is the Marigold?", "golden_answers": ["19"]},
]


def is_gnu_parallel_there() -> bool:
    program = shutil.which("parallel")
    return program is not None and "GNU parallel" in subprocess.run([program, "--version"], capture_output=True, text=True).stdout


def example(page: str, language: str, word: str, changes: dict[str, str]) -> str:
    """The one example of a page with this word, with the sizes of the test."""
    text = (DOCUMENTS / "how-to" / page).read_text(encoding="utf-8")
    (found,) = (code for code in re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL) if word in code)
    for size, own in changes.items():
        assert size in found, f"{page}: {size}"
        found = found.replace(size, own)
    return found


def records(text: str) -> list[dict[str, object]]:
    """Records without their times."""

    def untimed(fields: dict[str, object]) -> dict[str, object]:
        return {name: value for name, value in fields.items() if name != "ms" and not name.endswith("_ms")}

    return [json.loads(line, object_hook=untimed) for line in text.splitlines()]


class Jobs(Shelf):
    def setUp(self) -> None:
        super().setUp()
        program = self.folder / "bin" / "ken"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m ken "$@"\n', encoding="utf-8")
        program.chmod(0o755)
        own = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "KEN_EMBEDDER": EMBEDDER, "KEN_MODEL": MODEL, "KEN_SAMPLES": "2", "KEN_MAX_TOKENS": "6"}
        # Ray tells its makers of each start, and keeps a token in the home folder.
        self.environment = {**os.environ, **own, "RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}
        harbors = [{"id": f"w{n}", "title": f"Harbor {n}", "text": f"The harbor {n} was opened in {1800 + n}."} for n in range(12)]
        for name, rows in [("wiki", harbors), ("questions", QUESTIONS)]:
            (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")

    def run_program(self, *command: str) -> None:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=300)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def check_ingested(self) -> None:
        """Compares the joined corpus with that of one run."""
        self.run_program("ken", "ingest", "wiki.jsonl", "--corpus", "whole.ken", "--shards", "4")
        for part in range(4):
            self.assertTrue((self.folder / f"part-{part}.ken").is_dir())
        joined, whole = (ken.Corpus(self.folder / name, embedder=EMBEDDER) for name in ("wiki.ken", "whole.ken"))
        for question in ("When was harbor 7 opened?", "1803", "the oldest port"):
            hits = [[(hit.doc_id, hit.score) for hit in corpus.search(question, k=12)] for corpus in (joined, whole)]
            self.assertEqual(hits[0], hits[1])
            self.assertEqual(len(hits[0]), 12)

    def check_measured(self) -> None:
        """Compares the joined records with those of one run."""
        self.run_program("ken", "probe", "questions.jsonl", "--corpus", "wiki.ken", "--out", "whole.jsonl")
        joined, whole = (records((self.folder / name).read_text(encoding="utf-8")) for name in ("known.jsonl", "whole.jsonl"))
        self.assertEqual(joined, whole)
        self.assertEqual([record["id"] for record in joined[1:]], ["bell", "capital", "boat"])

    @unittest.skipUnless(is_gnu_parallel_there(), "needs GNU parallel, which is not here")
    def test_gnu_parallel_runs_the_jobs(self) -> None:
        ingest = example("ingest-in-many-jobs.md", "bash", "parallel -j", {".jsonl.zst": ".jsonl"})
        self.run_program("bash", "-euc", ingest)
        self.check_ingested()
        sizes = {"notes.ken": "wiki.ken", "{}/8": "{}/2", "seq 8": "seq 2", "-of-8": "-of-2", "--threads 2": "--threads 1"}
        self.run_program("bash", "-euc", example("measure-in-many-jobs.md", "bash", "parallel -j", sizes))
        self.check_measured()

    @unittest.skipUnless(importlib.util.find_spec("ray"), "needs Ray: pip install ray")
    def test_ray_runs_the_jobs(self) -> None:
        ingest = example("ingest-in-many-jobs.md", "python", "import ray", {".jsonl.zst": ".jsonl", "ray.init()": "ray.init(num_cpus=2)"})
        self.run_program(sys.executable, "-c", ingest)
        self.check_ingested()
        sizes = {"PARTS = 12": "PARTS = 2", "THREADS = 4": "THREADS = 1", "ray.init()": "ray.init(num_cpus=2)"}
        self.run_program(sys.executable, "-c", example("measure-in-many-jobs.md", "python", "import ray", sizes))
        self.check_measured()
