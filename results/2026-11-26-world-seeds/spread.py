"""Mean, lowest and highest over seeds of what evaluations say of each policy: spread.py POLICIES.csv ..."""
import csv
import sys

seeds = [{row["policy"]: row for row in csv.DictReader(open(path))} for path in sys.argv[1:]]
columns = {"em": "exact match", "evidence_ratio": "evidence used for", "vs_always": "against always",
           "of_oracle_lead": "of the oracle's lead", "strict_needless_skipped": "needless skipped, strict"}
print("| policy | " + " | ".join(columns.values()) + " |")
print("|---" * (len(columns) + 1) + "|")
for policy in seeds[0]:
    cells = []
    for column in columns:
        values = [float(seed[policy][column] or "nan") for seed in seeds]
        cells.append(f"{sum(values) / len(values):.3f} ({min(values):.3f} to {max(values):.3f})")
    print(f"| `{policy}` | " + " | ".join(cells) + " |")
