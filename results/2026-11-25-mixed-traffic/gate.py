#!/usr/bin/env python3
"""What a gate of several numbers would get on answers.csv: regressions of what evidence adds to exact match, learned on one
half of the questions, used on the other where they expect more than nothing, and the other way round. Then with the
thresholds that read the least evidence on the first half without losing against `always` there.

    venv/bin/python gate.py answers.csv        # needs numpy
"""
import csv
import sys

import numpy

with open(sys.argv[1]) as file:
    rows = list(csv.DictReader(file))
never, always = (numpy.array([float(row[name]) for row in rows]) for name in ["never", "always"])
half = numpy.arange(len(rows)) % 2
draw = numpy.random.default_rng(0)

BEFORE = ["cosine", "lead", "bm25", "bm25_lead", "agreement"]
MEMORY = ["logprob", "entropy_mean", "entropy_max", "margin"]
WITH = [f"{name}_with" for name in MEMORY]
SETS = {
    "cosine": ["cosine"],
    "cosine and log probability from memory": ["cosine", "logprob"],
    "search": BEFORE,
    "search and memory": BEFORE + MEMORY,
    "search, memory and answer with evidence": BEFORE + MEMORY + WITH,
}


def expected(names):
    """What evidence adds, predicted by ridge regression with squares and products of the inputs."""
    inputs = numpy.array([[float(row[name] or 0) for name in names] for row in rows])
    out = numpy.zeros(len(rows))
    for part in [0, 1]:
        known, asked = half != part, half == part
        middle, spread = inputs[known].mean(0), inputs[known].std(0) + 1e-9
        z = numpy.clip((inputs - middle) / spread, -4, 4)
        pairs = [z[:, i] * z[:, j] for i in range(z.shape[1]) for j in range(i + 1)]
        design = numpy.column_stack([numpy.ones(len(z)), z, *pairs])
        penalty = 10.0 * numpy.eye(design.shape[1])
        penalty[0, 0] = 0
        weights = numpy.linalg.solve(
            design[known].T @ design[known] + penalty, design[known].T @ (always - never)[known]
        )
        out[asked] = design[asked] @ weights
    return out


def least(expects):
    """Where evidence is used by thresholds that lose nothing on the other half."""
    used = numpy.zeros(len(rows), bool)
    for part in [0, 1]:
        known, asked = half != part, half == part
        tried = numpy.sort(expects[known])
        keeps = [t for t in tried if numpy.where(expects > t, always, never)[known].mean() >= always[known].mean()]
        used[asked] = expects[asked] > max(keeps, default=-numpy.inf)
    return used


oracle = numpy.maximum(never, always)
print(f"never {never.mean():.4f}, always {always.mean():.4f}, oracle {oracle.mean():.4f}")
for told, names in SETS.items():
    expects = expected(names)
    for aim, used in [("most right", expects > 0), ("least evidence", least(expects))]:
        right = numpy.where(used, always, never)
        gains = right - always
        drawn = draw.integers(0, len(rows), (2000, len(rows)))
        low, high = numpy.quantile(gains[drawn].mean(1), [0.025, 0.975])
        lead = gains.mean() / (oracle - always).mean()
        print(
            f"{told}, {aim}: {right.mean():.4f}, against always {gains.mean():+.4f} [{low:+.4f}, {high:+.4f}], "
            f"{lead:.3f} of the oracle's lead, evidence used for {used.mean():.3f}"
        )
