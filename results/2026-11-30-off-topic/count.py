"""From what memory.py wrote: what is given from memory at each threshold, of the questions far from every passage.

    count.py FILE.jsonl...
"""
import json
import sys

FAR = 0.35


def auroc(above, below):
    pairs = [(a > b) + 0.5 * (a == b) for a in above for b in below]
    return sum(pairs) / len(pairs) if pairs else float("nan")


for path in sys.argv[1:]:
    records = [json.loads(line) for line in open(path)]
    far = [record for record in records if record["cosine"] is not None and record["cosine"] <= FAR]
    print(f"{path}: {len(far)} of {len(records)} questions have a cosine of at most {FAR}")
    kinds = list(dict.fromkeys(record["kind"] for record in records))
    for signal, thresholds in (("perplexity", (1.5, 2, 2.5, 3)), ("uncertainty", (0.5, 0.7, 0.8, 0.9))):
        score = lambda record: -(record[signal] if record[signal] is not None else 99)
        right = [score(record) for record in far if record["right"]]
        wrong = [score(record) for record in far if not record["right"]]
        print(f"  {signal}: AUROC of right answers {auroc(right, wrong):.2f}")
        for threshold in thresholds:
            given = [record for record in far if -score(record) <= threshold]
            counts = ", ".join(
                f"{kind} {sum(r['kind'] == kind for r in given)}/{sum(r['kind'] == kind for r in far)}"
                f" ({sum(r['kind'] == kind and r['right'] for r in given)} right)" for kind in kinds
            )
            print(f"    at most {threshold}: {counts}")
