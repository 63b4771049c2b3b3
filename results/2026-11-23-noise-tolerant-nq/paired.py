"""What tuning changed, question by question.

    python paired.py BEFORE.jsonl AFTER.jsonl

Both are files that `ken eval` wrote of the same questions. Prints one line of JSON a score, over all
questions and over those for which a golden answer stood in the passages, or did not: the means, their
difference, and its 95% interval over 10,000 draws of the questions.
"""

import json
import random
import sys


def records(path):
    with open(path) as file:
        lines = (json.loads(line) for line in file)
        return {line["id"]: line for line in lines if "em" in line}


def main():
    before, after = records(sys.argv[1]), records(sys.argv[2])
    assert before.keys() == after.keys()
    draws = random.Random(0)
    for part, wanted in [("all", None), ("covered", True), ("not covered", False)]:
        chosen = [i for i in before if wanted is None or before[i]["gold_covered"] == wanted]
        for score in ["em", "f1", "contains"]:
            pairs = [(float(before[i][score]), float(after[i][score])) for i in chosen]
            differences = [b - a for a, b in pairs]
            n = len(differences)
            means = sorted(sum(draws.choices(differences, k=n)) / n for _ in range(10_000))
            print(json.dumps({
                "questions": part, "n": n, "score": score,
                "before": round(sum(a for a, _ in pairs) / n, 4),
                "after": round(sum(b for _, b in pairs) / n, 4),
                "difference": round(sum(differences) / n, 4),
                "interval": [round(means[250], 4), round(means[9750], 4)],
            }))


main()
