#!/usr/bin/env python3
"""Two results of `ken eval` on the questions that both of them answered: paired.py A.results.jsonl B.results.jsonl"""
import json
import sys


def read(path):
    rows = map(json.loads, open(path))
    return {row["id"]: row for row in rows if "id" in row}


one, other = map(read, sys.argv[1:])
both = sorted(one.keys() & other.keys())


def measured(rows):
    return {key: sum(float(rows[name][key]) for name in both) / len(both) for key in ("em", "f1", "contains")}


won = sum(other[name]["em"] and not one[name]["em"] for name in both)
lost = sum(one[name]["em"] and not other[name]["em"] for name in both)
print(json.dumps({"n": len(both), "first": measured(one), "second": measured(other), "only_second_right": won,
                  "only_first_right": lost}, indent=1))
