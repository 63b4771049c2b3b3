"""How well each measure tells what a model of the known world truly knows.

    python auroc.py TRUTH.jsonl KNOWN.jsonl [SIGNALS.jsonl]

TRUTH is what `ken world truth --out` wrote, KNOWN what `ken probe` wrote, SIGNALS the file of that
name in the folder that `ken eval --policy A,B --out DIR` wrote. A question is truly known where the
exact probability of its answer from memory is 0.5 or more. Prints one line of JSON a measure.
"""

import json
import math
import sys


def lines(path):
    with open(path) as file:
        for line in file:
            record = json.loads(line)
            if "id" in record:
                yield record


def auroc(pairs):
    """Of pairs (score, known): the chance that a known one has the larger score; ties count half."""
    pairs = sorted(pairs)
    ranks, at = {}, 0
    while at < len(pairs):
        end = at
        while end < len(pairs) and pairs[end][0] == pairs[at][0]:
            end += 1
        ranks[pairs[at][0]] = (at + end + 1) / 2
        at = end
    known = [score for score, is_known in pairs if is_known]
    others = len(pairs) - len(known)
    if not known or not others:
        return None
    total = sum(ranks[score] for score in known)
    return (total - len(known) * (len(known) + 1) / 2) / (len(known) * others)


def main():
    truth = {r["id"]: r["probability"]["self"] for r in lines(sys.argv[1])}
    measures = {}

    def add(name, identity, score):
        if score is not None and identity in truth and math.isfinite(score):
            measures.setdefault(name, []).append((score, truth[identity] >= 0.5))

    for record in lines(sys.argv[2]):
        add("confidence", record["id"], record["confidence"]["self"])
        add("certainty", record["id"], record["certainty"]["self"])
        if record["judgment"] is not None:
            add("prompt", record["id"], -record["judgment"])
        if record["eigenscore"] is not None:
            add("uncertainty:eigenscore", record["id"], -record["eigenscore"])
        likeliest = record["likeliest"]["self"]
        if likeliest:
            if likeliest.get("logprob") is not None:
                mean = likeliest["logprob"] / max(likeliest["tokens"], 1)
                add("uncertainty:perplexity", record["id"], mean)
            entropy = likeliest.get("entropy")
            if entropy:
                add("uncertainty:mean-token-entropy", record["id"], -entropy["mean"])
                add("uncertainty:max-token-entropy", record["id"], -entropy["max"])
    if len(sys.argv) > 3:
        for record in lines(sys.argv[3]):
            taken = record["without"]
            if taken.get("routed"):
                add("router", record["id"], -taken["routed"]["need"])
            assessed = taken.get("assessed") or {}
            if assessed.get("mastery") is not None:
                add("kbm", record["id"], -assessed["mastery"])
            if assessed.get("certainty") is not None:
                add("kbm:certainty", record["id"], -assessed["certainty"])
    for name, pairs in measures.items():
        known = sum(is_known for _, is_known in pairs)
        area = auroc(pairs)
        print(json.dumps({"measure": name, "n": len(pairs), "known": known, "auroc": area}))


if __name__ == "__main__":
    main()
