"""The examples of the documents run."""

from __future__ import annotations

import contextlib
import io
import os
import pathlib
import re
import unittest.mock
import warnings

from .shelf import EMBEDDER, MODEL, Shelf

DOCUMENTS = pathlib.Path(os.environ["KEN_TEST_DOCUMENTS"])


def examples(page: str) -> list[str]:
    """The examples of a page, in their order."""
    text = (DOCUMENTS / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


class Examples(Shelf):
    def test_the_examples_of_the_guide_run_one_after_the_other(self) -> None:
        notes = self.folder / "notes"
        notes.mkdir()
        (notes / "engine.md").write_text("# Engine\n\nChange the oil every 250 hours.\n", encoding="utf-8")
        named = {"KEN_EMBEDDER": EMBEDDER, "KEN_MODEL": MODEL, "KEN_CONFIG": "", "XDG_DATA_HOME": str(self.folder)}
        names: dict[str, object] = {}
        # That of FlashRAG is run where FlashRAG is tested.
        found = [example for example in examples("how-to/use-ken-from-python.md") if "flashrag" not in example]
        self.assertGreater(len(found), 5)
        told, errors = io.StringIO(), io.StringIO()
        streams = contextlib.redirect_stdout(told), contextlib.redirect_stderr(errors)
        with unittest.mock.patch.dict(os.environ, named), streams[0], streams[1], warnings.catch_warnings(action="ignore"):
            for example in found:
                exec(compile(example, "the guide", "exec"), names)
        self.assertIn("Change the oil every 250 hours.", told.getvalue())
        self.assertIn("berth nineteen", told.getvalue())
        self.assertIn("nv_context_relevance", told.getvalue())
        self.assertIn("magic", told.getvalue())

    def test_every_name_of_the_package_is_in_the_reference(self) -> None:
        import ken

        page = (DOCUMENTS / "reference/python.md").read_text(encoding="utf-8")
        for name in ken.__all__:
            self.assertIn(f"ken.{name}", page)
        classes = (ken.Corpus, ken.Model, ken.Embedder, ken.Pipeline)
        for kind in classes:
            for name in vars(kind):
                if not name.startswith("_"):
                    self.assertIn(f"`{name}", page, f"{kind.__name__}.{name}")


