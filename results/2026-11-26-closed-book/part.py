#!/usr/bin/env python3
"""The part of an evaluation that is about one set of questions: part.py SET QUESTIONS.jsonl EVALUATED OUT.jsonl OUT"""
import json
import os
import sys

name, questions, evaluated, out_questions, out = sys.argv[1:]
kept = [line for line in open(questions) if json.loads(line)["metadata"]["set"] == name]
ids = {json.loads(line)["id"] for line in kept}
open(out_questions, "w").writelines(kept)
os.makedirs(out, exist_ok=True)
for file in ("never", "always", "signals"):
    with open(f"{evaluated}/{file}.jsonl") as lines, open(f"{out}/{file}.jsonl", "w") as to:
        to.write(next(lines))
        to.writelines(line for line in lines if json.loads(line)["id"] in ids)
