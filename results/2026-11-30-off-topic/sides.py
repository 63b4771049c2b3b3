"""Two programs beside one another: the questions of xtask/bench/answers asked of each `ken serve`, in turns.

    sides.py QUESTIONS EVERY NAME=URL NAME=URL OUT     # writes OUT/NAME.jsonl; QUESTIONS is test or validation
"""
import json
import pathlib
import statistics
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "xtask/bench/answers"))
import answers
import judge

split, every, *sides, out = sys.argv[1:]
sides = dict(side.split("=", 1) for side in sides)
questions = answers.chosen(answers.read_questions(), split)[:: int(every)]
files = {name: pathlib.Path(out) / f"{name}.jsonl" for name in sides}
arms = {name: answers.ken_arm(url) for name, url in sides.items()}
for arm in arms.values():
    arm("Hello, are you there?")
done = {name: answers.answered(path) for name, path in files.items()}
for number, question in enumerate(questions):
    turns = list(arms) if number % 2 else list(arms)[::-1]
    for name in turns:
        if question["id"] not in done[name]:
            started = time.perf_counter()
            record = {"id": question["id"], **arms[name](question["question"]), "s": time.perf_counter() - started}
            with open(files[name], "a") as file:
                file.write(json.dumps(record) + "\n")
judge.table(questions, files)
records = {name: {r["id"]: r for r in map(json.loads, open(path))} for name, path in files.items()}
first, second = records
for kind in ("stated", "unanswerable", "general"):
    ids = [question["id"] for question in questions if question["metadata"]["kind"] == kind]
    ratios = [records[first][id]["s"] / records[second][id]["s"] for id in ids]
    tokens = {name: statistics.median(of[id]["prompt_tokens"] for id in ids) for name, of in records.items()}
    print(f"{kind}: seconds of {first} over {second}, median {statistics.median(ratios):.2f}; tokens read, medians {tokens}")
