#!/usr/bin/env python3
"""The default search by two programs, and both of its parts, over corpora that are there: measure.py OUT.json BEFORE AFTER SET=CORPUS.ken,QUESTIONS.jsonl...

The questions are those with an odd number; a question has `question` and the id of its passage in `metadata.gold_passage`.
"""
import json
import math
import random
import subprocess
import sys

out, before, after, *sets = sys.argv[1:]
RANKS = (1, 3, 10)


def ranks_of(ken, mode, corpus, asked):
    command = [ken, "search", "-", "--corpus", corpus, "--mode", mode, "--k", "30", "--json"]
    text = "\n".join(question for question, _ in asked)
    found = subprocess.run(command, input=text, text=True, check=True, capture_output=True).stdout.splitlines()
    for (_, gold), line in zip(asked, found, strict=True):
        documents = list(dict.fromkeys(hit["doc_id"] for hit in json.loads(line)["hits"]))
        yield documents.index(gold) + 1 if gold in documents else math.inf


def interval(values, draws=2000):
    chance = random.Random(1)
    means = sorted(sum(chance.choices(values, k=len(values))) / len(values) for _ in range(draws))
    return means[int(0.025 * draws)], means[int(0.975 * draws)]


def mean(values):
    return sum(values) / len(values)


result = {}
for name, paths in (word.split("=", 1) for word in sets):
    corpus, questions = paths.split(",")
    records = [json.loads(line) for line in open(questions)][1::2]
    asked = [(" ".join(record["question"].split()), record["metadata"]["gold_passage"]) for record in records]
    arms = {"dense": (after, "dense"), "lexical": (after, "lexical"), "before": (before, "hybrid"), "after": (after, "hybrid")}
    ranks = {arm: list(ranks_of(ken, mode, corpus, asked)) for arm, (ken, mode) in arms.items()}
    result[name] = {arm: [rank if rank < math.inf else None for rank in of] for arm, of in ranks.items()}
    print(f"{name}, {len(asked)} questions")
    for arm, of in ranks.items():
        print(f"  {arm:8}", *(f"@{k} {mean([rank <= k for rank in of]):.3f}" for k in RANKS))
    better = max(("dense", "lexical"), key=lambda arm: mean([rank == 1 for rank in ranks[arm]]))
    for against in ("before", better):
        for k in RANKS:
            gains = [(one <= k) - (other <= k) for one, other in zip(ranks["after"], ranks[against])]
            low, high = interval(gains)
            print(f"  against {against:8} @{k} {mean(gains):+.3f} ({low:+.3f} to {high:+.3f})", flush=True)
json.dump(result, open(out, "w"))
