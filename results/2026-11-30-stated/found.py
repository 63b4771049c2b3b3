"""Whether a golden answer stands in what is found for each stated question, and what became of it: found.py SERVER, over the manuals."""
import collections
import json
import pathlib
import sys
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "xtask/bench/answers"))
import answers
import judge

QUESTIONS = {question["id"]: question for question in answers.read_questions()}


def search(query):
    body = json.dumps({"query": query, "k": 5}).encode()
    request = urllib.request.Request(f"{sys.argv[1]}/v1/ken/search", body, {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(request))["hits"]


for name in ("validation", "test"):
    counts = collections.Counter()
    for record in map(json.loads, open(HERE / f"{name}-1.5b.jsonl")):
        question = QUESTIONS[record["id"]]
        if question["metadata"]["kind"] != "stated":
            continue
        golden = [text.casefold() for text in question["golden_answers"]]
        holding = [rank for rank, hit in enumerate(search(question["question"])) if any(text in json.dumps(hit, ensure_ascii=False).casefold() for text in golden)]
        where = "not among 5" if not holding else "among 3" if holding[0] < 3 else "4th or 5th"
        what = "right" if judge.is_right(question, record) else "wrong"
        if judge.is_refused(question, record):
            what = "refused by the model" if "says that no passage" in record["reason"] else "refused by the signal"
        counts[where, what] += 1
    for key in sorted(counts):
        print(name, *key, counts[key], sep=", ")
