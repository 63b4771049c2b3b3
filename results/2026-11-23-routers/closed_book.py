"""What foretells, closed-book, whether a model's likeliest answer is right.

    python closed_book.py KNOWN.jsonl ROUTER.json ...

KNOWN is what `ken probe` wrote, each ROUTER a file of `ken train router` learned from a part of it. All measures
are taken of the questions that no router was learned from. Prints one line of JSON a measure: the AUROC
against the likeliest answer being right, and its 95% interval over 2,000 draws. Of the routers, what
`ken train router --json` reports of these same questions holds. Needs the package blake3.
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


def scores(record):
    """What a record of `ken probe` says by each measure, the more the surer; and whether the likeliest answer is right."""
    answer = record["likeliest"]["self"]
    found = {"certainty": record["certainty"]["self"]}
    if record["judgment"] is not None:
        found["prompt"] = -record["judgment"]
    found["uncertainty:perplexity"] = answer["logprob"] / max(answer["tokens"], 1)
    found["uncertainty:mean-token-entropy"] = -answer["entropy"]["mean"]
    found["uncertainty:max-token-entropy"] = -answer["entropy"]["max"]
    return found, answer["correct"]


def judged(path):
    """The records of which it can be told whether the likeliest answer is right."""
    with open(path) as file:
        for record in map(json.loads, file):
            answer = record.get("likeliest", {}).get("self")
            if answer and answer["correct"] is not None:
                yield record


def show(measures):
    """Prints one line of JSON a measure, of pairs of a score and whether the answer is right."""
    draws = random.Random(0)
    for name, pairs in measures.items():
        found = sorted(filter(None, (auroc(draws.choices(pairs, k=len(pairs))) for _ in range(2000))))
        low, high = found[int(0.025 * len(found))], found[int(0.975 * len(found))]
        print(json.dumps({"measure": name, "n": len(pairs), "right": sum(r for _, r in pairs),
                          "auroc": round(auroc(pairs), 3), "interval": [round(low, 3), round(high, 3)]}))


def main():
    from blake3 import blake3

    learned = set()
    for path in sys.argv[2:]:
        with open(path) as file:
            learned |= set(json.load(file)["learned_from"])
    measures = {}
    for record in judged(sys.argv[1]):
        digest = int.from_bytes(blake3(record["question"].strip().encode()).digest()[:8], "big")
        if digest in learned:
            continue
        found, right = scores(record)
        for name, score in found.items():
            measures.setdefault(name, []).append((score, right))
    show(measures)


if __name__ == "__main__":
    main()
