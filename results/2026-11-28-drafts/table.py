#!/usr/bin/env python3
"""Of answers written without and with drafts, that they are equal bit for bit, and the seconds that writing took, as CSV.

    python3 table.py WITHOUT.jsonl... --with WITH.jsonl... > table.csv

Each file has a line for each question: its `id`, `text`, `logprobs`, `tokens` and `write`, the seconds to write it. Of several runs
the quickest counts.
"""
import csv
import json
import sys

cut = sys.argv.index("--with")
runs = [[[json.loads(line) for line in open(path)] for path in part] for part in (sys.argv[1:cut], sys.argv[cut + 1 :])]
out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["id", "tokens", "without_s", "with_s", "ratio"])
total = [0, 0.0, 0.0]
for place, first in enumerate(runs[0][0]):
    for run in runs[0] + runs[1]:
        assert run[place]["text"] == first["text"] and run[place]["logprobs"] == first["logprobs"], first["id"]
    without, drafted = (min(run[place]["write"] for run in part) for part in runs)
    out.writerow([first["id"], first["tokens"], f"{without:.3f}", f"{drafted:.3f}", f"{without / drafted:.2f}"])
    total = [total[0] + first["tokens"], total[1] + without, total[2] + drafted]
out.writerow(["all", total[0], f"{total[1]:.3f}", f"{total[2]:.3f}", f"{total[1] / total[2]:.2f}"])
