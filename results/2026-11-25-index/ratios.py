"""Queries a second at two recalls, between measured points in proportion, as `cargo xtask bench index` takes them.

    ratios.py KEN.txt... PEERS.json...    the rounds of one arm on one set of vectors
"""

import json
import sys

RECALLS = [0.95, 0.99]


def ken(path):
    rows = [line.split() for line in open(path, encoding="utf-8")][1:]
    return {"ken": [(float(row[1]), float(row[2])) for row in rows]}


def peers(path):
    measured = json.load(open(path, encoding="utf-8"))
    return {name: [(p["recall"], p["queries_per_s"]) for p in points] for name, points in measured.items()}


def rate_at(points, recall):
    above = next((at for at, point in enumerate(points) if point[0] >= recall), None)
    if above in (None, 0):
        return None if above is None else points[0][1]
    (low, fast), (high, slow) = points[above - 1], points[above]
    return fast + (slow - fast) * (recall - low) / (high - low)


rounds = {}
for path in sys.argv[1:]:
    for name, points in (peers if path.endswith(".json") else ken)(path).items():
        rounds.setdefault(name, []).append(points)
best = {
    name: [(points[0][0], max(rate for _, rate in points)) for points in zip(*all_rounds)]
    for name, all_rounds in rounds.items()
}
for recall in RECALLS:
    ours = rate_at(best["ken"], recall)
    for name, points in best.items():
        rate = rate_at(points, recall)
        print(f"{recall} {name:<8} {rate:9.0f} {ours / rate:6.2f}")
