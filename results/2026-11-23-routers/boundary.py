"""How well a boundary model tells, closed-book, whether the likeliest answer is right.

    python boundary.py KNOWN.jsonl SIGNALS.jsonl

KNOWN is what `ken probe` wrote, SIGNALS what `ken eval --policy kbm,…` took of the questions that `ken train kbm` left
out. Prints one line of JSON a measure: the AUROC, and its 95% interval over 2,000 draws.
"""
import json
import random
import sys


def auroc(pairs):
    ordered = sorted(pairs)
    ranks, at = {}, 0
    while at < len(ordered):
        end = at
        while end < len(ordered) and ordered[end][0] == ordered[at][0]:
            end += 1
        ranks[ordered[at][0]] = (at + end + 1) / 2
        at = end
    yes = [score for score, is_yes in ordered if is_yes]
    no = len(ordered) - len(yes)
    if not yes or not no:
        return None
    return (sum(ranks[score] for score in yes) - len(yes) * (len(yes) + 1) / 2) / (len(yes) * no)


with open(sys.argv[1]) as file:
    known = {record["id"]: record for record in map(json.loads, file) if "id" in record}
measures = {}
with open(sys.argv[2]) as file:
    for record in map(json.loads, file):
        if record.get("id") not in known or record["error"]:
            continue
        answer = known[record["id"]]["likeliest"]["self"]
        if answer["correct"] is None:
            continue
        right = answer["correct"]
        measures.setdefault("kbm", []).append((-record["without"]["assessed"]["mastery"], right))
        probed = known[record["id"]]
        measures.setdefault("certainty", []).append((probed["certainty"]["self"], right))
        if probed["judgment"] is not None:
            measures.setdefault("prompt", []).append((-probed["judgment"], right))
        perplexity = answer["logprob"] / max(answer["tokens"], 1)
        measures.setdefault("uncertainty:perplexity", []).append((perplexity, right))
        measures.setdefault("uncertainty:mean-token-entropy", []).append((-answer["entropy"]["mean"], right))
        measures.setdefault("uncertainty:max-token-entropy", []).append((-answer["entropy"]["max"], right))
draws = random.Random(0)
for name, pairs in measures.items():
    found = sorted(filter(None, (auroc(draws.choices(pairs, k=len(pairs))) for _ in range(2000))))
    low, high = found[int(0.025 * len(found))], found[int(0.975 * len(found))]
    print(json.dumps({"measure": name, "n": len(pairs), "right": sum(r for _, r in pairs),
                      "auroc": round(auroc(pairs), 3), "interval": [round(low, 3), round(high, 3)]}))
