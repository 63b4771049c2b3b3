#!/usr/bin/env python3
"""Of a folder that `ken eval` wrote: for each question whether it was answered right without and with evidence, and the
signals, as CSV.

    python3 answers.py mixed-1.5b > answers.csv
"""
import csv
import json
import sys


def lines(name):
    with open(f"{sys.argv[1]}/{name}.jsonl") as file:
        return {row["id"]: row for row in map(json.loads, file) if "id" in row}


never, always, signals = lines("never"), lines("always"), lines("signals")
out = csv.writer(sys.stdout, lineterminator="\n")
RATING = ["cosine", "lead", "bm25", "bm25_lead", "agreement"]
DRAFT = ["logprob", "entropy_mean", "entropy_max", "margin"]
out.writerow(["id", "never", "always", "gold_rank", "judgment", *DRAFT, *(f"{name}_with" for name in DRAFT), *RATING])


def told(draft):
    return [draft["logprob"], draft["entropy"]["mean"], draft["entropy"]["max"], draft["margin"]]


for id, row in signals.items():
    without, found = row["without"], row["with"]
    numbers = [without["judgment"], *told(without["draft"]), *told(found["draft"])]
    numbers += [found["rating"][name] for name in RATING]
    rounded = ["" if number is None else f"{number:.5g}" for number in numbers]
    out.writerow([id, int(never[id]["em"]), int(always[id]["em"]), always[id].get("gold_rank") or "", *rounded])
