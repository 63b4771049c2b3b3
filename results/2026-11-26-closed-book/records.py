#!/usr/bin/env python3
"""Records of `ken probe` from memory, joined with the answers with evidence that `ken eval` wrote about the same model.

    python3 records.py CLOSED.jsonl EVALUATED [ID...] > RECORDS.jsonl

CLOSED.jsonl is what `ken probe` wrote without a corpus, EVALUATED the folder of `ken eval --policy always,…`. What is not known of an answer with evidence
(samples, and with masked evidence) stays empty. With a file of ids as a third argument, only those are written.
"""
import json
import sys


def lines(path):
    with open(path) as file:
        header = json.loads(next(file))
        return header, {record["id"]: record for record in map(json.loads, file)}


header, closed = lines(sys.argv[1])
settings, signals = lines(f"{sys.argv[2]}/signals.jsonl")
_, always = lines(f"{sys.argv[2]}/always.jsonl")
ids = [line.strip() for line in open(sys.argv[3])] if len(sys.argv) > 3 else signals
assert header["settings"]["model"] == settings["settings"]["model"]
for name in ("corpus", "k", "mode", "evidence_tokens"):
    header["settings"][name] = settings["settings"][name]
print(json.dumps(header))
for name in ids:
    if name not in closed or name not in signals or "with" not in signals[name]:
        continue
    record, draft = closed[name], signals[name]["with"]
    record["likeliest"]["corpus"] = draft["draft"] | {"correct": always[name]["em"]}
    record["evidence"] = always[name]["retrieved"]
    record["rating"] = draft["rating"]
    record["costs_with_evidence"] = draft["costs"]
    record["fingerprint"]["corpus"] = settings["settings"]["corpus"].split()[-1]
    print(json.dumps(record))
