"""What a threshold on the need of retrieval saves at no loss of accuracy, in hindsight.

    python skip.py FOLDER TRUTH.jsonl [BOUND]

FOLDER is what `ken eval --policy self-route,never,always --out FOLDER` wrote, TRUTH what `ken world truth --out`
wrote of the model before it was tuned. Prints one line of JSON: the AUROC of the score against what the
model knows (an exact probability of 0.5 or more from memory), against its own answers from memory, and the
largest share of needless retrievals skipped while accuracy falls by at most BOUND (0.01).
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "2026-11-22-learning"))
from auroc import auroc, lines  # noqa: E402

folder, truth_file = sys.argv[1:3]
bound = float(sys.argv[3]) if len(sys.argv) > 3 else 0.01
truth = {r["id"]: r["probability"]["self"] for r in lines(truth_file)}
em = {p: {r["id"]: r["em"] for r in lines(f"{folder}/{p}.jsonl")} for p in ["never", "always"]}
need = {r["id"]: r["without"]["chosen"]["need"] for r in lines(f"{folder}/signals.jsonl")}
ids = sorted(need, key=lambda i: need[i])
n = len(ids)
always = sum(em["always"][i] for i in ids) / n
needless = sum(em["never"][i] for i in ids)
best, right, skipped = 0.0, always * n, 0
for place, i in enumerate(ids):
    right += em["never"][i] - em["always"][i]
    skipped += em["never"][i]
    last = place + 1 == n or need[ids[place + 1]] != need[i]
    if last and right / n >= always - bound:
        best = max(best, skipped / needless)
print(
    json.dumps(
        {
            "n": n,
            "never_em": needless / n,
            "always_em": always,
            "auroc_truth": auroc([(-need[i], truth[i] >= 0.5) for i in ids]),
            "auroc_own": auroc([(-need[i], em["never"][i]) for i in ids]),
            "needless_skipped": best,
        }
    )
)
