"""Paired differences of two programs from the ranks in a file of measure.py, with 95% bootstrap intervals.
Usage: paired.py RECALL.json BEFORE AFTER"""
import json, random, sys

path, before, after = sys.argv[1:]
sets = json.load(open(path))
ALONE = ["de", "fr", "es", "it", "pt"]


def differences(names, mode, rank):
    pairs = []
    for name in names:
        found = [sets[name][f"{program} {mode}"]["ranks"] for program in (before, after)]
        pairs += [(b or 1e9, a or 1e9) for b, a in zip(*found)]
    values = [(a <= rank) - (b <= rank) for b, a in pairs]
    chance = random.Random(1)
    means = sorted(sum(chance.choices(values, k=len(values))) / len(values) for _ in range(2000))
    return len(values), sum(values) / len(values), means[50], means[1949]


groups = {"five languages, each alone": ALONE} | {name: [name] for name in sets}
for title, names in groups.items():
    if not all(name in sets for name in names):
        continue
    for mode in ("lexical", "hybrid"):
        row = [differences(names, mode, rank) for rank in (1, 3, 10)]
        told = "; ".join(f"@{rank} {mean:+.3f} [{low:+.3f}, {high:+.3f}]" for rank, (_, mean, low, high) in zip((1, 3, 10), row))
        print(f"{title}, {row[0][0]} questions, {mode}: {told}")
