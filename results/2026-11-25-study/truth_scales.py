#!/usr/bin/env python3
"""n* of the members as probabilities tell it: python3 truth_scales.py CORPUS_INFO.json EXPORT.jsonl truth-A.jsonl …

`ken corpus export` writes shard after shard. At n shards a question is answered with the probability that the truth gives
with a document that tells the answer, where the first n shards hold one; else with one that misleads, where they hold
that; else with a stranger's.
"""
import itertools, json, sys

info = json.load(open(sys.argv[1]))
counts = [shard["passages"] for shard in info["shards"]]
ends = list(itertools.accumulate(counts))
shard_of = {}
for place, line in enumerate(open(sys.argv[2])):
    shard = next(at for at, end in enumerate(ends, 1) if place < end)
    document = json.loads(line)["doc_id"]
    shard_of[document] = min(shard, shard_of.get(document, 99))
curves = {}
for path in sys.argv[3:]:
    records = [json.loads(line) for line in open(path)]
    curve = [sum(one["probability"]["self"] for one in records) / len(records)]
    covered = []
    for n in range(1, len(counts) + 1):
        total = tells = 0
        for one in records:
            of, chance = one["metadata"], one["probability"]
            holds = lambda names: any(shard_of.get(name, 99) <= n for name in names)
            if chance["evidence"] is not None and holds(of["documents"]):
                total += chance["evidence"]
                tells += 1
            elif chance["misled"] is not None and holds(of["misleading"]):
                total += chance["misled"]
            else:
                total += chance["stranger"]
        curve.append(total / len(records))
        covered.append(tells / len(records))
    curves[path] = curve
    print(path, " ".join(f"{x:.3f}" for x in curve))
print("told by what is active", " ".join(f"{x:.3f}" for x in covered))
for small, large in itertools.combinations(curves, 2):
    n = next((n for n in range(1, len(counts) + 1) if curves[small][n] >= curves[large][1]), None)
    print(f"n* of {small} and {large}: {n}")
