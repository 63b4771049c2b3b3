#!/usr/bin/env python3
"""What an embedder in `int8` costs: how often the gold passage of a question is found, with passages and questions
embedded in `f32` and in `int8`.

    python3 embedder.py ken EMBEDDER QUESTIONS.jsonl.gz CORPUS.jsonl.gz... > embedder.json

`ken` is the program. Every question has a `metadata.gold_passage` in one of the corpora.
"""
import gzip
import json
import subprocess
import sys
import tempfile


def main():
    ken, embedder, questions, *corpora = sys.argv[1:]
    with gzip.open(questions, "rt") as lines:
        questions = [json.loads(line) for line in lines]
    asked = "\n".join(question["question"] for question in questions)
    found = {}
    for precision in ["f32", "int8"]:
        with tempfile.TemporaryDirectory() as folder:
            corpus = f"{folder}/c.ken"
            command = [ken, "ingest", *corpora, "--corpus", corpus, "--embedder", embedder, "--precision", precision]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for mode in ["dense", "hybrid"]:
                command = [ken, "search", "-", "--corpus", corpus, "--embedder", embedder, "--precision", precision]
                command += ["--mode", mode, "--k", "10", "--json"]
                out = subprocess.run(command, check=True, stdout=subprocess.PIPE, input=asked, text=True).stdout
                answers = [json.loads(line) for line in out.splitlines()]
                assert len(answers) == len(questions)
                found[mode, precision] = [ranked(answer) for answer in answers]
    print(json.dumps(list(results(found, questions)), indent=1))


def ranked(answer):
    return [hit["doc_id"] for hit in answer["hits"]]


def results(found, questions):
    gold = [question["metadata"]["gold_passage"] for question in questions]
    for mode in ["dense", "hybrid"]:
        exact, rounded = found[mode, "f32"], found[mode, "int8"]
        same = sum(len(set(a) & set(b)) for a, b in zip(exact, rounded)) / sum(map(len, exact))
        row = {"mode": mode, "questions": len(questions), "shared_of_10": same}
        for k in [1, 3, 10]:
            for precision in ["f32", "int8"]:
                hits = sum(passage in ids[:k] for passage, ids in zip(gold, found[mode, precision]))
                row[f"recall@{k} {precision}"] = hits / len(gold)
        yield row


main()
