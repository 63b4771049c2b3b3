#!/usr/bin/env python3
"""The exact match of double judgment at one threshold less that at another, paired by question, with a 95% bootstrap interval.

    python3 paired.py COMPARED kbm|perplexity THRESHOLD OTHER

A question is answered with evidence where the signal is above the threshold without it and not above it with it.
"""
import json
import math
import random
import sys


def lines(path):
    return {one["id"]: one for one in map(json.loads, list(open(path))[1:])}


def signal(name, measured):
    if name == "kbm":
        return measured["assessed"]["not_mastered"]
    answer = measured["draft"]
    return math.exp(-answer["logprob"] / max(1, answer["tokens"]))


folder, name, *thresholds = sys.argv[1:]
never, always, signals = (lines(f"{folder}/{file}.jsonl") for file in ("never", "always", "signals"))


def right(threshold):
    used = lambda one: signal(name, one["without"]) > threshold >= signal(name, one["with"])
    return [(always if used(one) else never)[key]["em"] for key, one in sorted(signals.items())]


one, other = (right(float(threshold)) for threshold in thresholds)
differences = [a - b for a, b in zip(one, other)]
draw = random.Random(0)
means = sorted(sum(draw.choices(differences, k=len(differences))) / len(differences) for _ in range(2000))
mean = lambda values: sum(values) / len(values)
print(f"{name}: {mean(one):.3f} - {mean(other):.3f} = {mean(differences):.3f} ({means[50]:.3f} to {means[1949]:.3f})")
