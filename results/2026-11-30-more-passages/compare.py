#!/usr/bin/env python3
"""What other passages make of answers: compare.py QUESTIONS BEFORE.jsonl AFTER.jsonl

Both files are of `ask` in bench.py of ../2026-11-28-answers at commit ddb28757. Of the questions that both hold, counts how many went from each outcome to each.
"""
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "xtask/bench/answers"))
from judge import REFUSALS, holds

questions, before, after = ([json.loads(line) for line in open(path)] for path in sys.argv[1:])
of = {question["id"]: question for question in questions}
before = {record["id"]: record for record in before}


def outcome(record):
    if any(holds(record["answer"], golden) for golden in of[record["id"]]["golden_answers"]):
        return "right"
    refused = record["withheld"] is not None or REFUSALS.search(record["answer"])
    return "refused" if refused else "wrong"


moves = collections.Counter()
for record in after:
    if record["id"] in before:
        moves[of[record["id"]]["metadata"]["kind"], outcome(before[record["id"]]), outcome(record)] += 1
for (kind, was, is_now), count in sorted(moves.items()):
    print(f"{kind:13} {was:8} {is_now:8} {count}")
