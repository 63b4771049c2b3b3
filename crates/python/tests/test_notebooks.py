"""The notebooks: every cell runs, one after the other, and its output is kept."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import unittest.mock

from .shelf import EMBEDDER, MODEL, Shelf
from .test_documents import DOCUMENTS


class Notebooks(Shelf):
    def test_they_run_and_show_what_they_showed(self) -> None:
        books = sorted((DOCUMENTS / "notebooks").glob("*.ipynb"))
        self.assertGreater(len(books), 3)
        named = {"KEN_EMBEDDER": EMBEDDER, "KEN_MODEL": MODEL, "KEN_CONFIG": ""}
        for book in books:
            place = self.folder / book.stem
            place.mkdir()
            os.chdir(place)
            names: dict[str, object] = {}
            cells = json.loads(book.read_text(encoding="utf-8"))["cells"]
            for cell in (cell for cell in cells if cell["cell_type"] == "code"):
                source = "".join(cell["source"])
                with self.subTest(book.name, cell=source), unittest.mock.patch.dict(os.environ, named):
                    told = io.StringIO()
                    with contextlib.redirect_stdout(told):
                        exec(compile(source, book.name, "exec"), names)
                    kinds = {output["output_type"] for output in cell["outputs"]}
                    self.assertEqual("stream" in kinds, told.getvalue() != "")
                    is_shown = isinstance(ast.parse(source).body[-1], ast.Expr) and not source.splitlines()[-1].startswith(("print", " "))
                    self.assertEqual("execute_result" in kinds, is_shown)
