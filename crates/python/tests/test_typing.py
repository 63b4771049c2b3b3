"""The types: of the package, of what its guide shows, and of the extension against its stub."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys

import ken

from .shelf import Shelf
from .test_documents import DOCUMENTS, examples

SETTINGS = DOCUMENTS.parent / "crates/python/pyproject.toml"
PACKAGE = pathlib.Path(ken.__file__).parent


class Types(Shelf):
    def check(self, *arguments: str | pathlib.Path) -> None:
        """Runs a program of mypy, which is to find nothing."""
        found = subprocess.run(
            [sys.executable, "-m", *map(str, arguments)],
            capture_output=True,
            text=True,
            env={**os.environ, "MYPYPATH": os.pathsep.join((str(PACKAGE.parent), str(self.folder)))},
        )
        self.assertEqual(found.returncode, 0, found.stdout + found.stderr)

    def test_the_package_and_the_guide(self) -> None:
        shown = examples("how-to/use-ken-from-python.md")
        frameworks = [example for example in shown if example.startswith("from ")]
        plain = [example for example in shown if example not in frameworks]
        (self.folder / "guide.py").write_text("\n".join(["from typing import Any", *plain, "config: Any = None"]), encoding="utf-8")
        for number, example in enumerate(frameworks):
            file = self.folder / f"framework_{number}.py"
            file.write_text(f"import ken\nfrom guide import *\n{example}", encoding="utf-8")
        modules = [f"--module=framework_{number}" for number in range(len(frameworks))]
        # What is installed is read once; the environment keeps it.
        kept = pathlib.Path(sys.prefix) / "mypy"
        self.check("mypy", "--config-file", SETTINGS, "--cache-dir", kept, "--package=ken", "--module=guide", *modules)

    def test_the_extension_is_what_its_stub_says(self) -> None:
        # Nothing but the stub is needed.
        (self.folder / "stub.ini").write_text("[mypy]\nfollow_imports = skip\n", encoding="utf-8")
        self.check("mypy.stubtest", "ken._ken", "--mypy-config-file", self.folder / "stub.ini")
