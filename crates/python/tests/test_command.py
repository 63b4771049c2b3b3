"""The program in the package."""

from __future__ import annotations

import json
import subprocess
import sys

import ken

from .shelf import EMBEDDER, Shelf


class Command(Shelf):
    def ken(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs the program."""
        return subprocess.run([sys.executable, "-m", "ken", *arguments], capture_output=True, text=True, timeout=60)

    def test_its_version_is_that_of_the_package(self) -> None:
        self.assertEqual(self.ken("--version").stdout, f"ken {ken.__version__}\n")

    def test_exit_codes_and_errors_are_those_of_the_program(self) -> None:
        usage = self.ken("serch", "--json")
        self.assertEqual((usage.returncode, json.loads(usage.stdout)["error"]["kind"]), (2, "usage"))
        missing = self.ken("corpus", "info", "--corpus", "none.ken", "--json")
        self.assertEqual((missing.returncode, json.loads(missing.stdout)["error"]["kind"]), (1, "not_a_corpus"))

    def test_it_reads_what_the_package_wrote(self) -> None:
        corpus = self.corpus()
        found = self.ken("search", "--corpus", corpus.address, "--embedder", EMBEDDER, "Marigold", "--json")
        hits = json.loads(found.stdout)["hits"]
        self.assertEqual([hit["doc_id"] for hit in hits], [hit.doc_id for hit in corpus.search("Marigold")])
