"""What each prompt answers on the validation questions, and what thresholds would keep: count.py ../../../xtask/bench/answers/questions.jsonl

Of each kind and format of question every third, in the order of their ids, is for validation."""
import collections
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[3] / "xtask/bench/answers"))
from judge import REFUSALS, holds

kinds = collections.defaultdict(list)
for question in map(json.loads, open(sys.argv[1])):
    kinds[question["metadata"]["kind"], question["metadata"]["format"]].append(question)
validation = {q["id"]: q for of in kinds.values() for q in sorted(of, key=lambda q: q["id"])[::3]}
answers = collections.defaultdict(dict)
for record in map(json.loads, open(pathlib.Path(__file__).parent / "answers.jsonl")):
    if record["id"] in validation:
        answers[record["model"], record["prompt"], record["k"], record["questions"]][record["id"]] = record


def right(question, record):
    return any(holds(record["answer"], golden) for golden in question["golden_answers"])


def shares(records, test):
    of = collections.Counter(validation[i]["metadata"]["kind"] for i in records)
    hits = collections.Counter(validation[i]["metadata"]["kind"] for i, r in records.items() if test(validation[i], r))
    return ", ".join(f"{kind} {hits[kind]}/{of[kind]}" for kind in sorted(of))


for name, records in answers.items():
    print(*name, "| right:", shares(records, right), "| refused:", shares(records, lambda q, r: bool(REFUSALS.search(r["answer"])) and not right(q, r)))
print()
for model, prompt, k, questions in [("0.5b", "short0", 5, "val"), ("0.5b", "short0", 3, "val"), ("1.5b", "short0", 5, "v30"), ("1.5b", "full6", 5, "v30")]:
    read, known = answers[model, prompt, k, questions], answers[model, "mem0", 5, "val"]
    for least in (-0.3, -0.4, -0.5, -0.6, -0.8):
        for lead in (0, 3):
            outcome = collections.Counter()
            for i, record in read.items():
                with_, without = record["mean_logprob"], known[i]["mean_logprob"]
                source, given = ("documents", record) if with_ - lead * max(0, without - with_) > least else ("memory", known[i]) if without >= least else ("none", None)
                outcome[validation[i]["metadata"]["kind"], source, given is not None and right(validation[i], given)] += 1
            shown = ", ".join(f"{kind} {source} {'right' if ok else 'wrong'} {n}" for (kind, source, ok), n in sorted(outcome.items()))
            print(f"{model} {prompt} k={k} least {least} lead {lead}: {shown}")
