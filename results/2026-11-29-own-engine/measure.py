#!/usr/bin/env python3
"""The same passages in a corpus of ken and in a table of PostgreSQL: which answers are among those that each finds, and how long it takes.

Usage: measure.py CORPUS EMBEDDER DATABASE QUESTIONS OUT
CORPUS holds the manuals of ../2026-11-28-manuals, EMBEDDER is the one that embedded them, DATABASE is `USER:PASSWORD@HOST:PORT/NAME` of an
empty database with pgvector, QUESTIONS is ../../xtask/bench/answers/questions.jsonl. Takes the packages ken-rag, numpy and psycopg.
"""

import csv
import json
import os
import re
import statistics
import subprocess
import sys
import time

import ken
import psycopg

MODES, DEPTHS = ("dense", "lexical", "hybrid"), (1, 3, 5, 10)


def fill(corpus, connection):
    """Copies passages with their vectors into a table with the usual indexes."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
        cursor.execute("DROP TABLE IF EXISTS passages")
        cursor.execute("CREATE TABLE passages (id text PRIMARY KEY, doc text, title text, body text, embedding vector(384))")
        exported = subprocess.run([sys.executable, "-m", "ken", "corpus", "export", "--corpus", corpus.address],
                                  capture_output=True, check=True, text=True)
        texts = {one["id"]: one for one in map(json.loads, exported.stdout.splitlines())}
        ids, vectors = corpus.vectors()
        with cursor.copy("COPY passages FROM STDIN") as copy:
            for name, vector in zip(ids, vectors):
                one = texts[name]
                body = "\n".join(filter(None, [one["title"], one.get("heading"), one["contents"]]))
                copy.write_row((name, one["doc_id"], one["title"], body, str(vector.tolist())))
        cursor.execute("CREATE INDEX ON passages USING hnsw (embedding vector_cosine_ops)")
        cursor.execute("ALTER TABLE passages ADD words tsvector GENERATED ALWAYS AS (to_tsvector('english', body)) STORED")
        cursor.execute("CREATE INDEX ON passages USING gin (words)")
        cursor.execute("CREATE INDEX ON passages USING gin (to_tsvector('english', body))")
        cursor.execute("ANALYZE passages")
    connection.commit()


def found_at(hits, question):
    """At which place the first passage of the right document stands that holds a golden answer; None where there is none."""
    for place, hit in enumerate(hits, 1):
        words = " ".join(re.findall(r"\w+", hit.text.lower()))
        answers = (" ".join(re.findall(r"\w+", answer.lower())) for answer in question["golden_answers"])
        document = hit.passage_id.rsplit("#", 1)[0]
        if document == question["metadata"]["document"] and any(f" {answer} " in f" {words} " for answer in answers):
            return place
    return None


def main(path, embedder, database, questions, out):
    login, place = database.rsplit("@", 1)
    user, password = login.split(":", 1)
    own = ken.Corpus(path, moved_embedder=embedder)
    with psycopg.connect(f"postgres://{database}") as connection:
        fill(own, connection)
    os.environ["KEN_SEARCH_KEY"] = password
    address = f"postgres://{user}@{place}/passages?text=body&vector=embedding&language=english"
    engines = [("ken", own)]
    for name, more in (("postgres", ""), ("postgres, words stored", "&words=words")):
        engines.append((name, ken.Corpus(address + more, embedder=embedder)))
    with open(questions, encoding="utf-8") as lines:
        asked = [one for one in map(json.loads, lines) if one["metadata"]["kind"] == "stated"]
    with open(out, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["engine", "mode", "question", "place", "ms"])
        for mode in MODES:
            for engine, corpus in engines:
                corpus.search("warm", 10, mode=mode)
                places, times = [], []
                for question in asked:
                    began = time.perf_counter()
                    hits = corpus.search(question["question"], 10, mode=mode)
                    times.append(1000 * (time.perf_counter() - began))
                    places.append(found_at(hits, question))
                    rows.writerow([engine, mode, question["id"], places[-1], f"{times[-1]:.2f}"])
                shares = [sum(place is not None and place <= depth for place in places) / len(asked) for depth in DEPTHS]
                print(mode, engine, len(asked), *(f"{share:.3f}" for share in shares), f"p50 {statistics.median(times):.1f} ms")


main(*sys.argv[1:])
