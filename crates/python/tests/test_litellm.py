"""LiteLLM in front of a server of ken, as its guide says."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys

from .shelf import MODEL, Shelf
from .test_documents import examples


class InFront(Shelf):
    def test_the_example_of_the_guide_runs(self) -> None:
        [example] = [one for one in examples("how-to/use-openai-clients.md") if "litellm" in one]
        command = [sys.executable, "-m", "ken", "serve", "--corpus", self.corpus().address, "--model", MODEL]
        command += ["--style", "short", "--listen", "127.0.0.1:0", "--json"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                url = json.loads(server.stdout.readline())["url"]
                told = io.StringIO()
                with contextlib.redirect_stdout(told):
                    exec(compile(example.replace("http://127.0.0.1:8484/v1", url), "the guide", "exec"), {})
            finally:
                server.terminate()
        self.assertIn("19", told.getvalue())
        self.assertIn("The boat", told.getvalue())
