#!/usr/bin/env python3
"""How well the numbers in records of `ken probe` tell that the greedy answer is right: AUROC with a 95% interval (DeLong).

    python3 auroc.py known.jsonl
"""
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "2026-11-26-closed-book"))
from auroc import auroc

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
