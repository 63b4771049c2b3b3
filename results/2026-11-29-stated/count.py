"""Counts of measured.csv: AUROC of right answers above each other group, and what both rules let through."""
import csv
import pathlib

rows = list(csv.DictReader(open(pathlib.Path(__file__).parent / "measured.csv")))
for row in rows:
    for name in list(row)[3:]:
        row[name] = float(row[name])
    row["assurance"] = row["with"] - 3 * max(row["without"] - row["with"], 0)
    row["both"] = 3 * row["assurance"] + row["apart"]
GROUPS = ["right", "without", "unans", "wrong", "general"]
for name in ["xquad", "validation", "test"]:
    groups = {group: [row for row in rows if row["set"] == name and row["group"] == group] for group in GROUPS}
    print(name, {group: len(own) for group, own in groups.items()})
    for signal in ["assurance", "apart", "both", "on_c1", "on_c2", "on_c3", "on_c4", "on_c5"]:
        shares = {}
        for group, own in groups.items():
            pairs = [(one[signal], two[signal]) for one in groups["right"] for two in own]
            if group != "right" and pairs:
                shares[group] = round(sum((a > b) + (a == b) / 2 for a, b in pairs) / len(pairs), 2)
        print("  AUROC of", signal, shares)
    for rule, signal, least in [("now", "assurance", -0.4), ("with the check", "both", 2.0)]:
        kept = {group: f"{sum(row[signal] > least for row in own)}/{len(own)}" for group, own in groups.items()}
        print("  kept", rule, kept)
