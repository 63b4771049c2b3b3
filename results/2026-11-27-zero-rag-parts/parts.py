"""Zero-RAG's parts with and without: exact match of each arm, and what leaving a part out changes.

    python3 parts.py FOLDER

FOLDER has arm-{untuned,tuned}-{router,always}, as `ken prune report --out` wrote them. Each line: the share pruned, the
arm, its exact match, its difference from the arm with all parts with a 95% interval over 2,000 draws of the questions,
and the mean milliseconds a question.
"""

import json
import random
import sys

ARMS = {
    "all parts": "arm-tuned-router",
    "without the router": "arm-tuned-always",
    "without tuning": "arm-untuned-router",
    "without either": "arm-untuned-always",
}


def records(arm, ratio):
    name = "unpruned" if ratio == "0" else f"pruner-{ratio}"
    with open(f"{sys.argv[1]}/{arm}/{name}.jsonl") as file:
        lines = (json.loads(line) for line in file)
        return {line["id"]: line for line in lines if "em" in line}


def main():
    draws = random.Random(0)
    for ratio in ["0", "0.3", "0.6"]:
        whole = records(ARMS["all parts"], ratio)
        ids = sorted(whole)
        for name, arm in ARMS.items():
            found = records(arm, ratio)
            assert found.keys() == whole.keys()
            gains = [found[i]["em"] - whole[i]["em"] for i in ids]
            n = len(gains)
            means = sorted(sum(draws.choices(gains, k=n)) / n for _ in range(2000))
            em = sum(found[i]["em"] for i in ids) / n
            ms = sum(found[i]["timing_ms"]["total"] for i in ids) / n
            print(f"{ratio:4} {name:20} {em:.3f} {sum(gains) / n:+.3f} ({means[50]:.3f} to {means[1949]:.3f}) {ms:.2f} ms")


main()
