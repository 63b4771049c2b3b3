"""Per-question results of `ken eval` without the texts of questions, answers and passages.

usage: strip.py RESULTS.jsonl > OUT.csv
"""

import json
import sys

print("id,policy,route,em,f1,contains,gold_rank,gold_covered,prompt_tokens,completion_tokens,total_ms")
for line in open(sys.argv[1]):
    row = json.loads(line)
    if "settings" in row:
        continue
    print(
        row["id"],
        row["policy"],
        row["route"],
        int(row["em"]),
        f"{row['f1']:.4f}",
        int(row["contains"]),
        row["gold_rank"] or "",
        "" if row["gold_covered"] is None else int(row["gold_covered"]),
        row["tokens"]["prompt"],
        row["tokens"]["completion"],
        f"{row['timing_ms']['total']:.1f}",
        sep=",",
    )
