#!/usr/bin/env python3
"""How often an answer stands among the first passages, over the manuals as they are and as Office files and books: recall.py QUESTIONS KEN NAME=CORPUS.ken...

The document of a passage is compared without its ending, and questions over PDFs, which pandoc does not read, count apart.
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "xtask/bench/answers"))
from judge import holds

path, ken, *corpora = sys.argv[1:]
questions = [json.loads(line) for line in open(path)]
stated = [question for question in questions if question["metadata"]["kind"] == "stated"]


def stem(document):
    return document.rsplit(".", 1)[0]


for name, corpus in (word.split("=", 1) for word in corpora):
    command = [ken, "search", "-", "--corpus", corpus, "--k", "10", "--json"]
    asked = "\n".join(question["question"] for question in stated)
    found = subprocess.run(command, input=asked, text=True, check=True, capture_output=True).stdout.splitlines()
    ranks = {}
    for question, line in zip(stated, found, strict=True):
        of = stem(question["metadata"]["document"])
        good = [
            rank
            for rank, hit in enumerate(json.loads(line)["hits"], 1)
            if of.endswith(stem(hit["doc_id"])) and any(holds(hit["text"], golden) for golden in question["golden_answers"])
        ]
        ranks.setdefault(question["metadata"]["format"], []).append(good[0] if good else 99)
    for form, own in sorted(ranks.items()):
        print(name, form, len(own), *(f"@{k} {sum(rank <= k for rank in own) / len(own):.3f}" for k in (1, 3, 5, 10)))
