"""The threshold of self-route that labels choose on a third of the evaluated questions, and what it answers of the rest.

usage: self-route-threshold.py LABELS EVALUATED
LABELS is what `ken label sources` wrote before the training, EVALUATED the folder of `ken eval` with several policies.
"""

import json
import math
import random
import sys


def records(path):
    with open(path) as lines:
        return [record for record in map(json.loads, lines) if "id" in record]


def likelihood(context):
    return 0.0 if context["logprob"] is None else math.exp(context["logprob"])


def expected(label):
    """How likely the golden answer is from a text that the model wrote, and from the first passage."""
    own = [likelihood(one) for one in label["contexts"] if one["source"] == "self"]
    found = [likelihood(one) for one in label["contexts"] if one["source"] != "self"]
    return sum(own) / len(own), found[0]


def best(rows, without, with_evidence):
    """The threshold that answers most; questions above it retrieve."""
    rows = sorted(rows, key=lambda row: row["need"])
    right = most = sum(row[with_evidence] for row in rows)
    threshold = None
    for row in rows:
        right += row[without] - row[with_evidence]
        if right >= most:
            most, threshold = right, row["need"]
    return threshold


def answered(rows, threshold):
    kept = [row["always" if threshold is None or row["need"] > threshold else "never"] for row in rows]
    return sum(kept) / len(kept)


labels = {one["id"]: one for one in records(sys.argv[1]) if one.get("golden_answer")}
folder = sys.argv[2]
never, always = ({one["id"]: one["em"] for one in records(f"{folder}/{name}.jsonl")} for name in ("never", "always"))
rows = []
for one in records(f"{folder}/signals.jsonl"):
    if one["id"] in labels:
        own, found = expected(labels[one["id"]])
        need = one["without"]["chosen"]["need"]
        rows.append({"need": need, "own": own, "found": found, "never": never[one["id"]], "always": always[one["id"]]})

random.seed(0)
print("draw|chosen on|measured on|threshold by labels|exact match|threshold by exact match|exact match|at 0.2|in hindsight")
for draw in range(3):
    is_chosen_on = [random.random() < 0.33 for _ in rows]
    chosen_on = [row for row, drawn in zip(rows, is_chosen_on) if drawn]
    others = [row for row, drawn in zip(rows, is_chosen_on) if not drawn]
    by_labels, by_answers = best(chosen_on, "own", "found"), best(chosen_on, "never", "always")
    hindsight = best(others, "never", "always")
    numbers = [by_labels, answered(others, by_labels), by_answers, answered(others, by_answers)]
    numbers += [answered(others, 0.2), answered(others, hindsight)]
    print(draw, len(chosen_on), len(others), *(f"{number:.3f}" for number in numbers), sep="|")
