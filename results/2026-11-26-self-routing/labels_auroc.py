"""How well numbers of `ken label sources` tell that memory is right, and that evidence is better: AUROC of each way to make a label of them.

    python3 labels_auroc.py LABELS.jsonl EVALUATED
"""
import json
import math
import sys


def lines(path):
    return {one["id"]: one for one in map(json.loads, list(open(path))[1:])}


def auroc(scores, right):
    order = sorted(range(len(scores)), key=scores.__getitem__)
    ranks, at = [0.0] * len(scores), 0
    while at < len(order):
        end = at
        while end < len(order) and scores[order[end]] == scores[order[at]]:
            end += 1
        for place in order[at:end]:
            ranks[place] = (at + end + 1) / 2
        at = end
    positive = sum(right)
    return (sum(rank for rank, one in zip(ranks, right) if one) - positive * (positive + 1) / 2) / (positive * (len(right) - positive))


labels, never, always = lines(sys.argv[1]), lines(f"{sys.argv[2]}/never.jsonl"), lines(f"{sys.argv[2]}/always.jsonl")
ids = [name for name in never if name in labels and labels[name].get("null_logprob") is not None]
own = lambda one: [math.exp(c["logprob"]) for c in one["contexts"] if c["source"] == "self"]
found = lambda one: [math.exp(c["logprob"]) for c in one["contexts"] if c["source"] != "self"]
mean = lambda values: sum(values) / len(values)
ways = {
    "sum over n contexts (share of self)": lambda one: sum(own(one)) / (sum(own(one)) + sum(found(one)) + 1e-12),
    "of the five best, how many are self's": lambda one: sum(s == 0 for _, s in sorted([(-p, 0) for p in own(one)] + [(-p, 1) for p in found(one)])[:5]),
    "mean of self against best of the corpus": lambda one: mean(own(one)) - max(found(one)),
    "mean of self against the first passage": lambda one: mean(own(one)) - found(one)[0],
    "first text of self against the first passage": lambda one: own(one)[0] - found(one)[0],
    "no context against the first passage": lambda one: math.exp(one["null_logprob"]) - found(one)[0],
    "mean of self alone": lambda one: mean(own(one)),
    "no context alone": lambda one: math.exp(one["null_logprob"]),
}
right = [never[name]["em"] for name in ids]
differ = [name for name in ids if never[name]["em"] != always[name]["em"]]
print(f"{len(ids)} questions, memory right {sum(right)}; sources differ on {len(differ)}")
for name, way in ways.items():
    scores = {one: way(labels[one]) for one in ids}
    print(f"  {name:46} memory is right {auroc([scores[one] for one in ids], right):.3f}   memory is the right source, where they differ {auroc([scores[one] for one in differ], [never[one]['em'] for one in differ]):.3f}")
