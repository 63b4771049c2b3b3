"""What a threshold saves at no loss of accuracy, in hindsight, for every measure in a folder of `ken eval`.

    python skip.py FOLDER TRUTH.jsonl [BOUND]

Of the questions that the model truly knows (an exact probability of 0.5 or more from memory), the largest
share that is not retrieved for while accuracy falls by at most BOUND (0.01); and the AUROC against that.
"""
import json
import sys


def lines(path):
    with open(path) as file:
        for line in file:
            record = json.loads(line)
            if "id" in record:
                yield record


def auroc(pairs):
    pairs = sorted(pairs)
    ranks, at = {}, 0
    while at < len(pairs):
        end = at
        while end < len(pairs) and pairs[end][0] == pairs[at][0]:
            end += 1
        ranks[pairs[at][0]] = (at + end + 1) / 2
        at = end
    yes = [score for score, is_yes in pairs if is_yes]
    no = len(pairs) - len(yes)
    return (sum(ranks[score] for score in yes) - len(yes) * (len(yes) + 1) / 2) / (len(yes) * no)


folder, truth_file = sys.argv[1:3]
bound = float(sys.argv[3]) if len(sys.argv) > 3 else 0.01
truth = {r["id"]: r["probability"]["self"] for r in lines(truth_file)}
em = {p: {r["id"]: r["em"] for r in lines(f"{folder}/{p}.jsonl")} for p in ["never", "always"]}
needs = {}
for record in lines(f"{folder}/signals.jsonl"):
    taken = record["without"]
    if taken.get("routed"):
        needs.setdefault("router", {})[record["id"]] = taken["routed"]["need"]
    assessed = taken.get("assessed") or {}
    if assessed.get("mastery") is not None:
        needs.setdefault("kbm", {})[record["id"]] = assessed["mastery"]
    if taken.get("chosen"):
        needs.setdefault("self-route", {})[record["id"]] = taken["chosen"]["need"]
    draft = taken.get("draft")
    if draft and draft.get("logprob") is not None:
        needs.setdefault("perplexity", {})[record["id"]] = -draft["logprob"] / max(draft["tokens"], 1)
    needs.setdefault("truth", {})[record["id"]] = -truth[record["id"]]
for name, need in needs.items():
    ids = sorted(need, key=need.get)
    n = len(ids)
    always = sum(em["always"][i] for i in ids) / n
    known = {i for i in ids if truth[i] >= 0.5}
    best, right, skipped = (0.0, 0.0), always * n, 0
    for place, i in enumerate(ids):
        right += em["never"][i] - em["always"][i]
        skipped += i in known
        last = place + 1 == n or need[ids[place + 1]] != need[i]
        if last and right / n >= always - bound:
            best = max(best, (skipped / len(known), (place + 1) / n))
    print(json.dumps({"measure": name, "n": n, "known": len(known), "bound": bound,
                      "auroc": round(auroc([(-need[i], i in known) for i in ids]), 4),
                      "needless_skipped": round(best[0], 4), "not_retrieving": round(best[1], 4)}))
