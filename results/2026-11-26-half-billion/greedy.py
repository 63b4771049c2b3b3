#!/usr/bin/env python3
"""Records of `ken probe` whose confidence says whether the greedy answer is right, instead of how many samples are.

    python3 greedy.py known.jsonl > greedy.jsonl
"""
import json
import sys

lines = iter(open(sys.argv[1]))
print(next(lines), end="")
for record in map(json.loads, lines):
    record["confidence"]["self"] = float(record["likeliest"]["self"]["correct"])
    print(json.dumps(record, ensure_ascii=False))
