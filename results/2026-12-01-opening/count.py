#!/usr/bin/env python3
"""What would be answered at a threshold, if the assurance is over the first N tokens: count.py OUT.jsonl..."""
import json
import math
import sys

LEAD, WEIGHT, USUAL, MEMORY = 3, 0.1, -3, math.log(1.2)


def mean(values):
    return sum(values) / len(values)


def assurance(measured, tokens):
    """`evidence:stated` over the first `tokens` tokens; of all if that is None."""
    with_evidence, memory = (mean(measured[name]["logprobs"][:tokens]) for name in ("evidence", "memory"))
    refusal = USUAL if measured["refusal"] is None else measured["refusal"]
    return with_evidence - LEAD * max(memory - with_evidence, 0) - WEIGHT * (refusal - USUAL)


def outcome(record, tokens, threshold):
    measured = record["measured"]
    if not measured["evidence"]["refused"] and assurance(measured, tokens) > threshold:
        return "right" if measured["evidence"]["right"] else "wrong"
    if -mean(measured["memory"]["logprobs"]) <= MEMORY:
        return "right" if measured["memory"]["right"] else "wrong"
    return "refused"


def auroc(records, tokens):
    given = [record["measured"] for record in records if not record["measured"]["evidence"]["refused"]]
    right, other = ([assurance(one, tokens) for one in given if one["evidence"]["right"] == side] for side in (True, False))
    pairs = [(a > b) + 0.5 * (a == b) for a in right for b in other]
    return len(right), len(other), mean(pairs)


def main(paths):
    for path in paths:
        records = [record for record in map(json.loads, open(path)) if record["measured"]]
        print(path, *({kind: sum(r["kind"] == kind for r in records) for kind in ("stated", "unanswerable")}).items())
        for tokens in (None, 3, 4, 6, 8, 10, 12, 16):
            right, other, area = auroc(records, tokens)
            print(f"  {tokens or 'all'} tokens: AUROC {area:.3f} ({right} right, {other} others)")
            for threshold in (-0.3, -0.35, -0.4, -0.45, -0.5):
                of = {
                    kind: [outcome(record, tokens, threshold) for record in records if record["kind"] == kind]
                    for kind in ("stated", "unanswerable")
                }
                stated = ", ".join(f"{of['stated'].count(name)} {name}" for name in ("right", "wrong", "refused"))
                invented = len(of["unanswerable"]) - of["unanswerable"].count("refused")
                print(f"    at {threshold}: {stated}; invented for {invented} of {len(of['unanswerable'])}")


if __name__ == "__main__":
    main(sys.argv[1:])
