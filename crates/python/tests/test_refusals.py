"""Bad input: an exception that names the thing and the remedy, and nothing is lost."""

from __future__ import annotations

import pickle
import sys
import unittest.mock

import ken

from .shelf import EMBEDDER, MODEL, Shelf, model


class Settings(Shelf):
    def test_an_unknown_setting(self) -> None:
        with self.assert_fails("config", "`polcy`", "did you mean `policy`?"):
            ken.Pipeline(model=model(), polcy="never")
        with self.assert_fails("config", "mode"):
            ken.Corpus("c.ken", mode="magic")
        with self.assertRaisesRegex(TypeError, "k= takes"):
            ken.Corpus("c.ken", k={"three": 3})

    def test_numbers_of_numpy_are_numbers(self) -> None:
        import numpy

        corpus = ken.Corpus("c.ken", k=numpy.int64(2), trust_corpus_embedder=numpy.bool_(True))
        self.assertFalse(corpus.exists())
        with self.assert_fails("config", "k"):
            ken.Corpus("c.ken", k=numpy.float32(2.5))

    def test_settings_come_from_the_file_and_keywords_win(self) -> None:
        (self.folder / "ken.toml").write_text('policy = "never"\n', encoding="utf-8")
        self.assertEqual(ken.Pipeline(model=model()).policy, "never")
        self.assertEqual(ken.Pipeline(model=model(), policy="random:0", corpus=self.corpus()).policy, "random:0")
        (self.folder / "other.toml").write_text("polcy = 1\n", encoding="utf-8")
        with self.assert_fails("config", "did you mean `policy`?"):
            ken.Pipeline(model=model(), config="other.toml")

    def test_remedies_are_worded_for_python(self) -> None:
        with self.assert_fails("corpus_not_named", "corpus="):
            ken.Pipeline(model=model(), policy="always")


class Sources(Shelf):
    def test_what_is_no_record(self) -> None:
        corpus = self.corpus(())
        for wrong in (["a", 7], [7], 7, {"id": "a", "text": "x"}, b"text"):
            with self.assertRaises(TypeError, msg=repr(wrong)):
                corpus.ingest(wrong)
        with self.assertRaisesRegex(TypeError, "cannot be taken"):
            corpus.ingest([{"id": "a", "text": "x", "what": object()}])

    def test_columns_that_are_missing(self) -> None:
        import pandas

        corpus = self.corpus(())
        with self.assert_fails("missing_field", "row 1", "contents"):
            corpus.ingest(pandas.DataFrame({"id": ["a"], "words": ["x"]}))
        with self.assert_fails("missing_field", "fields="):
            corpus.ingest([{"id": "a", "words": "x"}])
        with self.assert_fails("wrong_type", "text"):
            corpus.ingest(pandas.DataFrame({"id": ["a"], "text": [3.5]}))

    def test_an_iterator_that_fails_loses_nothing_before(self) -> None:
        corpus = self.corpus()

        def broken():
            yield ("late", "A late note.")
            raise OSError("the line is dead")

        with self.assertRaisesRegex(OSError, "the line is dead"):
            corpus.ingest(broken())
        self.assertEqual(len(list(ken.Corpus.open(corpus.address).documents())) >= 3, True)
        self.assertEqual(corpus.ingest([("late", "A late note.")])["generation"] > 0, True)
        self.assertEqual(corpus.search("late note", k=1)[0].doc_id, "late")

    def test_broken_documents_are_logged_and_left_out(self) -> None:
        corpus = self.corpus(())
        records = [{"id": "a"}, {"id": "b", "text": "Good."}]
        with self.assertLogs("ken", "WARNING") as logged:
            report = corpus.ingest(records, skip_broken=True)
        self.assertEqual((report["added"], report["broken"]), (1, 1))
        self.assertIn("row 1", logged.output[0])

    def test_a_path_that_is_not_there(self) -> None:
        with self.assert_fails("missing_path", "nowhere"):
            self.corpus(self.folder / "nowhere")


class Corpora(Shelf):
    def test_no_corpus_and_one_too_many(self) -> None:
        with self.assert_fails("not_a_corpus", "none.ken"):
            ken.Corpus.open("none.ken")
        with self.assert_fails("not_a_corpus"):
            ken.Corpus("none.ken").search("anything")
        corpus = self.corpus()
        with self.assert_fails("exists"):
            ken.Corpus.create(corpus.address)

    def test_queries_that_say_nothing(self) -> None:
        corpus = self.corpus()
        with self.assert_fails("empty_question"):
            corpus.search(" ")
        with self.assertRaises(TypeError):
            corpus.search(7)
        with self.assertRaises(TypeError):
            corpus.search_many("one")
        with self.assertRaises(OverflowError):
            corpus.search("x", k=-1)
        with self.assert_fails("bad_argument", "filter"):
            corpus.search("x", filter="(year=1")


class Models(Shelf):
    def test_models_that_are_none(self) -> None:
        with self.assert_fails("local_missing"):
            ken.Model("./none.gguf")
        with self.assertRaises(ken.KenError):
            ken.Model(EMBEDDER)
        with self.assertRaises(ken.KenError):
            ken.Embedder(MODEL)

    def test_what_cannot_be_scored_or_written(self) -> None:
        with self.assert_fails("empty_text"):
            model().score("The capital of France is", "")
        with self.assert_fails("context_exceeded"):
            model().generate("word " * 20000)
        with self.assert_fails("bad_argument", "temperature"):
            model().generate("x", temperature=-1)
        with self.assert_fails("bad_argument", "role"):
            model().generate([{"role": "poet", "content": "x"}])


class Packages(Shelf):
    def test_optional_packages_that_are_missing(self) -> None:
        corpus = self.corpus()
        with unittest.mock.patch.dict(sys.modules, {"numpy": None, "tqdm.auto": None, "tqdm": None}):
            with self.assert_fails("missing_package", "pip install numpy"):
                corpus.vectors()
            with self.assert_fails("missing_package", "tqdm"):
                corpus.ingest([("a", "x")], progress=True)
        with self.assertRaisesRegex(TypeError, "progress="):
            corpus.ingest([("a", "x")], progress="yes")

    def test_errors_can_be_pickled(self) -> None:
        error = ken.KenError("no", "kind", "do")
        again = pickle.loads(pickle.dumps(error))
        self.assertEqual((again.message, again.kind, again.remedy), ("no", "kind", "do"))


