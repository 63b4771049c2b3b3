"""What the tests share: the test models, a few documents, and a corpus of them."""

from __future__ import annotations

import functools
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest
import unittest.mock

import ken

# LiteLLM, which DSPy uses, asks for a list of prices while it is imported.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
# Ragas tells its makers of each evaluation.
os.environ["RAGAS_DO_NOT_TRACK"] = "true"
# FlashRAG needs no models of transformers, which says that it finds no torch.
os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"

MODELS = pathlib.Path(os.environ["KEN_TEST_MODELS"])
EMBEDDER = str(MODELS / "minilm")
MODEL = str(MODELS / "smollm2" / "SmolLM2-135M-Instruct.Q4_1.gguf")

DOCUMENTS = [
    {"id": "bell", "title": "The bell", "text": "The bell of Ostrava was cast in 1734 by hand.", "year": 1734},
    {"id": "boat", "title": "The boat", "text": "The Marigold is moored at berth 19.", "year": 1990},
    {"id": "oil", "title": "The engine", "text": "Change the oil of the engine every 250 hours.", "year": 2021},
]


@functools.cache
def model() -> ken.Model:
    """The small language model, opened once."""
    return ken.Model(MODEL)


class Shelf(unittest.TestCase):
    """A test in a folder of its own, which no settings reach."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)
        others = [name for name in os.environ if name.startswith("KEN_") and not name.startswith("KEN_TEST_")]
        kept = unittest.mock.patch.dict(os.environ)
        kept.start()
        self.addCleanup(kept.stop)
        for name in others:
            del os.environ[name]

    def corpus(self, documents: object = DOCUMENTS, **settings: object) -> ken.Corpus:
        """A corpus of documents."""
        corpus = ken.Corpus(self.folder / "shelf.ken", embedder=EMBEDDER, **settings)
        corpus.ingest(documents)
        return corpus

    def run_python(self, program: str, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Runs a program of its own process, which may crash."""
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), *arguments],
            capture_output=True,
            text=True,
            timeout=timeout,
            cwd=self.folder,
        )

    def assert_fails(self, kind: str, *words: str):
        """That what stands below fails with an error of a kind, whose text has these words."""
        return _Fails(self, kind, words)


class _Fails:
    def __init__(self, test: unittest.TestCase, kind: str, words: tuple[str, ...]) -> None:
        self.test, self.kind, self.words = test, kind, words

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if error is not None and not isinstance(error, ken.KenError):
            return False
        self.test.assertIsNotNone(error, "nothing failed")
        assert isinstance(error, ken.KenError)
        self.test.assertEqual(error.kind, self.kind, str(error))
        for word in self.words:
            self.test.assertIn(word, str(error))
        return True
