"""A corpus from Python: taking in, finding, changing."""

from __future__ import annotations

import asyncio
import datetime
import pathlib
import sqlite3

import ken

from .shelf import DOCUMENTS, EMBEDDER, Shelf


class Searching(Shelf):
    def test_what_was_taken_in_is_found(self) -> None:
        corpus = self.corpus()
        self.assertEqual(len(corpus), 3)
        best = corpus.search("Where is the Marigold?", k=2)[0]
        self.assertEqual((best.doc_id, best.passage_id, best.title), ("boat", "boat#0", "The boat"))
        self.assertEqual(best.text, DOCUMENTS[1]["text"])
        self.assertEqual(best.metadata, {"year": 1990})
        self.assertEqual(best.to_dict()["score"], best.score)

    def test_modes_filters_and_k_are_obeyed(self) -> None:
        corpus = self.corpus()
        found = corpus.search("oil", k=1, mode="lexical")
        self.assertEqual([hit.doc_id for hit in found], ["oil"])
        found = corpus.search("what is old?", mode="dense", filter="year<2000")
        self.assertEqual({hit.doc_id for hit in found}, {"bell", "boat"})
        found = corpus.search("what is old?", filter=["year<2000", "year>1800"])
        self.assertEqual({hit.doc_id for hit in found}, {"boat"})
        scores = [hit.score for hit in corpus.search("engine")]
        self.assertEqual(scores, sorted(scores, reverse=True))

    def test_many_queries_find_what_each_finds(self) -> None:
        corpus = self.corpus()
        queries = ["Marigold", "bell", "engine oil"]
        self.assertEqual(corpus.search_many(queries, 2), [corpus.search(query, 2) for query in queries])
        self.assertEqual(asyncio.run(corpus.asearch_many(queries, 2)), corpus.search_many(queries, 2))
        self.assertEqual(corpus.search_many([]), [])

    def test_vectors_are_those_of_the_embedder(self) -> None:
        corpus = self.corpus()
        ids, vectors = corpus.vectors()
        self.assertEqual(ids, ["bell#0", "boat#0", "oil#0"])
        self.assertEqual((vectors.shape, vectors.dtype.name), ((3, 384), "float32"))
        texts = [f"{document['title']}\n{document['text']}" for document in DOCUMENTS]
        own = ken.Embedder(EMBEDDER).embed(texts)
        for vector, other in zip(vectors, own):
            self.assertGreater(float(vector @ other), 0.99)


class Changing(Shelf):
    def test_documents_are_listed_and_deleted(self) -> None:
        corpus = self.corpus()
        listed = list(corpus.documents())
        self.assertEqual([document.id for document in listed], ["bell", "boat", "oil"])
        self.assertEqual(listed[0], ken.Document("bell", "The bell", 1, metadata={"year": 1734}))
        self.assertEqual(corpus.delete("boat")["documents"], 2)
        self.assertEqual(corpus.delete(["oil"])["documents"], 1)
        self.assertEqual([hit.doc_id for hit in corpus.search("Marigold")], ["bell"])

    def test_an_earlier_generation_comes_back(self) -> None:
        corpus = self.corpus()
        before = corpus.info()["generation"]
        corpus.delete("boat")
        self.assertEqual([past["change"] for past in corpus.history()][-1], "delete")
        corpus.rollback(before)
        self.assertEqual(corpus.search("Marigold", k=1)[0].doc_id, "boat")

    def test_only_what_changed_is_taken_in(self) -> None:
        corpus = self.corpus()
        changed = [*DOCUMENTS[:2], {**DOCUMENTS[2], "text": "Change the oil every 300 hours."}]
        report = corpus.ingest(changed)
        self.assertEqual((report["unchanged"], report["replaced"], report["added"]), (2, 1, 0))
        self.assertIn("300", corpus.search("oil", k=1)[0].text)

    def test_what_others_published_is_found_after_a_refresh(self) -> None:
        corpus = self.corpus()
        self.assertEqual(len(corpus.search("tea")), 3)
        other = ken.Corpus(corpus.address, embedder=EMBEDDER)
        other.ingest([("tea", "Tea is served at four.")])
        self.assertEqual(len(corpus.search("tea")), 3)
        corpus.refresh()
        self.assertEqual(corpus.search("tea", k=1)[0].doc_id, "tea")

    def test_its_repr_says_what_it_is(self) -> None:
        corpus = ken.Corpus("new.ken", embedder=EMBEDDER)
        self.assertEqual(repr(corpus), "ken.Corpus('new.ken', new)")
        self.assertEqual(len(corpus), 0)
        corpus.ingest(DOCUMENTS)
        self.assertEqual(repr(corpus), "ken.Corpus('new.ken', 3 documents, 3 passages, generation 1)")


class TakingIn(Shelf):
    def texts(self, corpus: ken.Corpus) -> dict[str, str]:
        """The texts by their documents."""
        return {hit.doc_id: hit.text for hit in corpus.search("anything", k=100)}

    def test_files_and_folders(self) -> None:
        notes = self.folder / "notes"
        notes.mkdir()
        (notes / "one.md").write_text("# One\n\nThe first note.\n", encoding="utf-8")
        (notes / "two.txt").write_text("The second note.", encoding="utf-8")
        corpus = self.corpus(notes)
        self.assertEqual({document.id for document in corpus.documents()}, {"one.md", "two.txt"})
        (notes / "two.txt").unlink()
        report = corpus.ingest([notes], sync=True)
        self.assertEqual(report["deleted"], 1)

    def test_pairs_and_generators(self) -> None:
        pairs = ((f"n{number}", f"Note number {number}.") for number in range(5))
        self.assertEqual(self.texts(self.corpus(pairs))["n3"], "Note number 3.")

    def test_a_cursor_of_a_database_which_is_bound_to_its_thread(self) -> None:
        with sqlite3.connect(":memory:") as database:
            database.execute("create table notes (id text, text text)")
            database.executemany("insert into notes values (?, ?)", [("a", "One."), ("b", "Two.")])
            corpus = self.corpus(database.execute("select id, text from notes"))
        self.assertEqual(self.texts(corpus), {"a": "One.", "b": "Two."})

    def test_fields_of_other_names(self) -> None:
        records = [{"ref": 7, "words": "A bell.", "when": datetime.date(2026, 1, 2), "place": pathlib.Path("a/b")}]
        corpus = self.corpus(())
        corpus.ingest(records, fields={"id": "ref", "text": "words"})
        self.assertEqual(corpus.search("bell")[0].doc_id, "7")
        self.assertEqual(corpus.search("bell")[0].metadata, {"when": "2026-01-02", "place": "a/b"})

    def test_records_without_ids_are_numbered(self) -> None:
        corpus = self.corpus(())
        corpus.ingest([{"text": "One."}, {"text": "Two."}], fields={"id": ""})
        self.assertEqual(sorted(self.texts(corpus)), ["records:1", "records:2"])

    def test_a_frame_of_pandas(self) -> None:
        import pandas

        frame = pandas.DataFrame(DOCUMENTS)
        frame.loc[1, "year"] = float("nan")
        corpus = self.corpus(frame)
        self.assertEqual(corpus.search("Marigold", k=1)[0].metadata, {"year": None})
        self.assertEqual(corpus.search("oil", k=1)[0].metadata, {"year": 2021})

    def test_a_frame_of_polars_and_tables_of_arrow(self) -> None:
        import polars
        import pyarrow

        expected = {document["id"]: document["text"] for document in DOCUMENTS}
        table = pyarrow.Table.from_pylist(DOCUMENTS)

        class Exporting:
            """What shows nothing but Arrow's interface."""

            def __arrow_c_stream__(self, requested_schema: object = None) -> object:
                return table.__arrow_c_stream__(requested_schema)

        for number, source in enumerate((polars.DataFrame(DOCUMENTS), table, table.to_reader(), Exporting())):
            corpus = ken.Corpus(f"{number}.ken", embedder=EMBEDDER)
            corpus.ingest(source)
            self.assertEqual(self.texts(corpus), expected)

    def test_progress_is_told(self) -> None:
        told: list[tuple[str, int, int | None]] = []
        corpus = ken.Corpus("told.ken", embedder=EMBEDDER)
        corpus.ingest(DOCUMENTS, progress=lambda *step: told.append(step))
        self.assertIn(("ingesting", 3, None), told)
        corpus.ingest([("more", "More.")], progress=True)
