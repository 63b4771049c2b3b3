"""How well a boundary model tells, closed-book, whether the likeliest answer is right.

    python boundary.py KNOWN.jsonl SIGNALS.jsonl

KNOWN is what `ken probe` wrote, SIGNALS what `ken eval --policy kbm,…` took of the questions that `ken train kbm` left
out. Prints one line of JSON a measure: the AUROC, and its 95% interval over 2,000 draws.
"""
import json
import sys

from closed_book import judged, scores, show

known = {record["id"]: record for record in judged(sys.argv[1])}
measures = {}
with open(sys.argv[2]) as file:
    for record in map(json.loads, file):
        if record.get("id") not in known or record["error"]:
            continue
        found, right = scores(known[record["id"]])
        for name, score in {"kbm": -record["without"]["assessed"]["mastery"], **found}.items():
            measures.setdefault(name, []).append((score, right))
show(measures)
