#!/usr/bin/env python3
"""How well the numbers in the folder of an evaluation tell that memory is right: AUROC with a 95% interval (DeLong), by set.

    python3 auroc.py EVALUATED [IDS]

With a file of ids, of these questions only. What a question lacks, as the verdict of a model that was not asked, is left out.
"""
import json
import math
import sys


def lines(path):
    return {one["id"]: one for one in map(json.loads, list(open(path))[1:])}


def auroc(scores, right):
    known = [score for score, one in zip(scores, right) if one]
    unknown = [score for score, one in zip(scores, right) if not one]
    over = lambda a, b: (a > b) + 0.5 * (a == b)
    of_known = [sum(over(a, b) for b in unknown) / len(unknown) for a in known]
    of_unknown = [sum(over(a, b) for a in known) / len(known) for b in unknown]
    area = sum(of_known) / len(of_known)
    variance = lambda values: sum((value - area) ** 2 for value in values) / (len(values) - 1)
    error = 1.96 * math.sqrt(variance(of_known) / len(known) + variance(of_unknown) / len(unknown))
    return f"{area:.3f} ({max(0.0, area - error):.3f} to {min(1.0, area + error):.3f})"


def numbers(signals):
    memory, answer = signals["without"], signals["without"]["draft"]
    assessed, routed = memory.get("assessed", {}), memory.get("routed")
    verdict = lambda *names: next((-assessed[name] for name in names if assessed.get(name) is not None), None)
    return {
        "log probability of the answer": answer["logprob"],
        "the same by token (perplexity)": answer["logprob"] / max(1, answer["tokens"]),
        "margin": answer["margin"],
        "mean entropy": -answer["entropy"]["mean"],
        "largest entropy": -answer["entropy"]["max"],
        "prompt": None if memory["judgment"] is None else -memory["judgment"],
        "cosine of the best passage": signals["with"]["rating"]["cosine"] if signals["with"].get("rating") else None,
        "router": None if routed is None else -routed["need"],
        "kbm": verdict("not_mastered", "mastery"),
        "kbm:certainty": verdict("not_certain", "certainty"),
    }


def main():
    folder = sys.argv[1]
    signals, never = lines(f"{folder}/signals.jsonl"), lines(f"{folder}/never.jsonl")
    only = set(open(sys.argv[2]).read().split()) if len(sys.argv) > 2 else set(signals)
    rows = {name: numbers(one) for name, one in signals.items() if name in only}
    for group in ("", "nq", "triviaqa", "webq"):
        of_group = [name for name in rows if name.startswith(group)]
        right = [never[name]["em"] for name in of_group]
        print(group or "all", len(of_group), "questions,", sum(right), "right from memory")
        for number in rows[of_group[0]] if of_group else ():
            scores = [rows[name][number] for name in of_group]
            if None not in scores:
                print(f"   {number:32} {auroc(scores, right)}")


if __name__ == "__main__":
    main()
