"""Counts the records of this folder, and looks golden answers up in what is found: count.py KEN CORPUS EMBEDDER"""
import collections
import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "xtask/bench/answers"))
import answers
import judge

QUESTIONS = {question["id"]: question for question in answers.read_questions()}


def verdict(question, record):
    if judge.is_refused(question, record):
        return "refused by the model" if "says that no passage" in record["reason"] else "refused by the signal"
    return "right" if judge.is_right(question, record) else "wrong"


def citation(question, record):
    return "cited rightly" if judge.is_cited(question, record) else "another cited" if record["cited"] else "none cited"


def rank(ken, corpus, embedder, question):
    words = [ken, "search", question["question"], "--corpus", corpus, "--embedder", embedder, "-k", "5", "--json"]
    hits = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["hits"]
    golden = [text.casefold() for text in question["golden_answers"]]
    holds = lambda hit: any(text in json.dumps(hit, ensure_ascii=False).casefold() for text in golden)
    return next((at for at, hit in enumerate(hits) if holds(hit)), None)


for path in sorted(HERE.glob("*.jsonl")):
    counts = collections.Counter()
    for record in map(json.loads, open(path)):
        question = QUESTIONS[record["id"]]
        kind, what = question["metadata"]["kind"], verdict(question, record)
        counts[kind, what] += 1
        if kind == "stated" and what == "right":
            counts[kind, what, citation(question, record)] += 1
        if kind == "stated" and path.name.startswith("confirm"):
            at = rank(*sys.argv[1:], question)
            counts["found", "not among 5" if at is None else "among 3" if at < 3 else "4th or 5th", what] += 1
    print(path.name)
    for key in sorted(counts):
        print("   ", *key, counts[key], sep=", ")
