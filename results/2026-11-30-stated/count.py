"""Counts the records of this folder: count.py"""
import collections
import json
import math
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "xtask/bench/answers"))
import answers
import judge

QUESTIONS = {question["id"]: question for question in answers.read_questions()}


def lines(name):
    return [json.loads(line) for line in open(HERE / name)]


for path in sorted(HERE.glob("*-*b*.jsonl")):
    counts = collections.Counter()
    for record in lines(path.name):
        question = QUESTIONS[record["id"]]
        is_right, is_refused = judge.is_right(question, record), judge.is_refused(question, record)
        counts[question["metadata"]["kind"], "right" if is_right else "refused" if is_refused else "wrong"] += 1
    print(path.name, *(f"{kind} {what} {count}," for (kind, what), count in sorted(counts.items())))

# Of the trial by one word: how well numbers tell right answers from those to unanswerable questions (AUROC), and what is given above the
# threshold that keeps so many of the right ones.
records = [dict(record, mean=sum(record["lps"]) / len(record["lps"])) for record in lines("one-word.jsonl")]
is_none = lambda record: record["text"].strip().lower().startswith("none")
right = [record for record in records if judge.is_right(QUESTIONS[record["id"]], {"answer": record["text"]})]
unanswerable = [record for record in records if record["kind"] == "unanswerable"]
NUMBERS = {
    "mean log probability": lambda record: record["mean"],
    "log odds of none": lambda record: -record["none"],
    "mean less a tenth of the odds": lambda record: record["mean"] - 0.1 * record["none"],
}
for name, number in NUMBERS.items():
    above = [(number(a) > number(b)) + 0.5 * (number(a) == number(b)) for a in right for b in unanswerable]
    line = [f"{name}: AUROC {sum(above) / len(above):.3f}"]
    for share in (0.95, 0.9):
        threshold = sorted(map(number, right), reverse=True)[math.ceil(share * len(right)) - 1]
        given = sum(number(record) >= threshold and not is_none(record) for record in unanswerable)
        line.append(f"{given} of {len(unanswerable)} given at {share}")
    print("; ".join(line))
