"""Parts questions that a boundary model was not taught in two: one half to learn a router from, one to measure it on.

    python halves.py SIGNALS.jsonl KNOWN.jsonl QUESTIONS.jsonl first|second OUT

SIGNALS is what `ken eval --held-out` took of these questions. Writes OUT/learn.jsonl, the records of every other
one of them (the first, third and so on with `first`), and OUT/rest.jsonl, the questions of the others.
"""
import json
import os
import sys

signals, known, questions, side, out = sys.argv[1:6]
with open(signals) as file:
    ids = [record["id"] for record in map(json.loads, file) if "id" in record]
at = ["first", "second"].index(side)
learned, rest = set(ids[at::2]), set(ids[1 - at::2])
os.makedirs(out, exist_ok=True)
with open(known) as file, open(f"{out}/learn.jsonl", "w") as to:
    to.writelines(line for line in file if json.loads(line).get("id", None) in learned | {None})
with open(questions) as file, open(f"{out}/rest.jsonl", "w") as to:
    to.writelines(line for line in file if json.loads(line)["id"] in rest)
print(json.dumps({"learned_from": len(learned), "measured_on": len(rest)}))
