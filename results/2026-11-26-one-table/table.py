"""One table of policies and models, from the policies.csv of evaluations: table.py NAME=FILE ..."""
import csv
import sys

columns = [argument.split("=", 1) for argument in sys.argv[1:]]
rows = {name: {row["policy"]: row for row in csv.DictReader(open(path))} for name, path in columns}
policies = list(dict.fromkeys(policy for name, _ in columns for policy in rows[name]))


def cell(row):
    if row is None:
        return ""
    number = lambda key, digits: f"{float(row[key]):.{digits}f}" if row[key] else "-"
    tokens = float(row["prompt_tokens"]) + float(row["completion_tokens"])
    return f"{number('em', 3)}; {number('evidence_ratio', 2)}; {number('strict_needless_skipped', 2)}; {number('model_calls', 1)}; {tokens:.0f}"


print("| policy | " + " | ".join(name for name, _ in columns) + " |")
print("|---" * (len(columns) + 1) + "|")
for policy in policies:
    print(f"| `{policy}` | " + " | ".join(cell(rows[name].get(policy)) for name, _ in columns) + " |")
