#!/usr/bin/env python3
"""How well the numbers in records of `ken probe` tell that the greedy answer is right: AUROC with a 95% interval (DeLong).

    python3 auroc.py known.jsonl
"""
import json
import math
import sys


def auroc(scores, right):
    known = [score for score, one in zip(scores, right) if one]
    unknown = [score for score, one in zip(scores, right) if not one]
    over = lambda a, b: (a > b) + 0.5 * (a == b)
    of_known = [sum(over(a, b) for b in unknown) / len(unknown) for a in known]
    of_unknown = [sum(over(a, b) for a in known) / len(known) for b in unknown]
    area = sum(of_known) / len(of_known)
    variance = lambda values: sum((value - area) ** 2 for value in values) / (len(values) - 1)
    error = 1.96 * math.sqrt(variance(of_known) / len(known) + variance(of_unknown) / len(unknown))
    return f"{area:.3f} ({area - error:.3f} to {area + error:.3f})"


records = [json.loads(line) for line in list(open(sys.argv[1]))[1:]]
greedy = lambda record: record["likeliest"]["self"]
right = [greedy(record)["correct"] for record in records]
NUMBERS = {
    "log probability of the answer": lambda record: greedy(record)["logprob"],
    "the same by token (perplexity)": lambda record: greedy(record)["logprob"] / max(1, greedy(record)["tokens"]),
    "margin": lambda record: greedy(record)["margin"],
    "largest entropy": lambda record: -greedy(record)["entropy"]["max"],
    "mean entropy": lambda record: -greedy(record)["entropy"]["mean"],
    "certainty of the samples": lambda record: record["certainty"]["self"],
    "prompt": lambda record: -record["judgment"],
}
print(f"{len(right)} questions, {sum(right)} right from memory")
for name, number in NUMBERS.items():
    print(f"{name}: {auroc([number(record) for record in records], right)}")
