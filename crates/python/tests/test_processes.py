"""Threads, forks, Ctrl-C and the end of the program: no crash, no hang, no lost data."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest

import ken

from .shelf import EMBEDDER, MODEL, Shelf, model


class Threads(Shelf):
    def test_several_threads_share_everything(self) -> None:
        corpus = self.corpus()
        pipeline = ken.Pipeline(corpus, model(), "always", k=1)
        answers: list[str] = []

        def work() -> None:
            for _ in range(2):
                corpus.search("Marigold")
                answers.append(pipeline.ask("Where is the Marigold moored?").answer)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual((len(answers), len(set(answers))), (8, 1))

    def test_python_goes_on_while_ken_works(self) -> None:
        ticks: list[float] = []
        over = threading.Event()

        def tick() -> None:
            while not over.wait(0.005):
                ticks.append(time.monotonic())

        ticking = threading.Thread(target=tick)
        ticking.start()
        before = len(ticks)
        model().generate("Once upon a time", max_tokens=60)
        during = len(ticks) - before
        over.set()
        ticking.join()
        self.assertGreater(during, 5)


@unittest.skipUnless(hasattr(os, "fork"), "forks")
class Forks(Shelf):
    def test_a_forked_child_is_refused_and_ends(self) -> None:
        self.corpus()
        told = self.run_python(
            """
            import os, sys, ken
            corpus = ken.Corpus.open("shelf.ken", embedder=sys.argv[1])
            model = ken.Model(sys.argv[2])
            corpus.search("bell")
            child = os.fork()
            if child == 0:
                for call in (lambda: corpus.search("bell"), lambda: model.generate("x"), lambda: ken.Model(sys.argv[2])):
                    try:
                        call()
                    except ken.KenError as error:
                        print(error.kind, "spawn" in error.remedy, flush=True)
                sys.exit(7)
            _, status = os.waitpid(child, 0)
            print(os.waitstatus_to_exitcode(status), len(corpus.search("bell")), len(model.generate("x", max_tokens=1).tokens))
            """,
            EMBEDDER,
            MODEL,
        )
        self.assertEqual(told.stdout.splitlines(), ["forked True"] * 3 + ["7 3 1"], told.stderr)

    def test_a_child_that_was_forked_before_works(self) -> None:
        told = self.run_python(
            """
            import os, sys, ken
            if os.fork() == 0:
                print(len(ken.Model(sys.argv[1]).generate("x", max_tokens=1).tokens), flush=True)
                sys.exit(0)
            os.wait()
            """,
            MODEL,
        )
        self.assertEqual(told.stdout, "1\n", told.stderr)


class Ends(Shelf):
    def start(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        """Starts a program, and waits until it says that it works."""
        started = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(program), *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.folder,
        )
        self.addCleanup(started.kill)
        assert started.stdout is not None
        started.stdout.readline()
        return started

    def test_ctrl_c_ends_the_work(self) -> None:
        started = self.start(
            """
            import sys, ken
            model = ken.Model(sys.argv[1])
            print("working", flush=True)
            try:
                model.generate("Once upon a time", max_tokens=1900, temperature=1)
            except KeyboardInterrupt:
                print("ended", len(model.generate("Once", max_tokens=1).tokens))
            """,
            MODEL,
        )
        time.sleep(0.5)
        started.send_signal(signal.SIGINT)
        out, errors = started.communicate(timeout=20)
        self.assertEqual((out, started.returncode), ("ended 1\n", 0), errors)

    def test_ctrl_c_keeps_what_was_published(self) -> None:
        started = self.start(
            """
            import sys, ken
            corpus = ken.Corpus("much.ken", embedder=sys.argv[1])
            corpus.ingest([("first", "The first.")])
            def many():
                print("working", flush=True)
                for number in range(10**9):
                    yield (str(number), f"Note number {number}.")
            try:
                corpus.ingest(many())
            except KeyboardInterrupt:
                print("ended", corpus.search("first", filter="missing=1"), len(corpus) >= 1)
            """,
            EMBEDDER,
        )
        time.sleep(0.5)
        started.send_signal(signal.SIGINT)
        out, errors = started.communicate(timeout=30)
        self.assertEqual((out, started.returncode), ("ended [] True\n", 0), errors)
        self.assertIn("first", {document.id for document in ken.Corpus.open(self.folder / "much.ken").documents()})

    def test_the_program_ends_while_a_thread_works(self) -> None:
        started = self.start(
            """
            import sys, threading, time, ken
            model = ken.Model(sys.argv[1])
            work = lambda: model.generate("Once upon a time", max_tokens=1900, on_text=lambda text: None)
            threading.Thread(target=work, daemon=True).start()
            time.sleep(0.3)
            print("working", flush=True)
            """,
            MODEL,
        )
        _, errors = started.communicate(timeout=20)
        self.assertEqual((started.returncode, errors), (0, ""))
