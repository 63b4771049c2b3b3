"""How near the nearest passage is to questions about the documents, and to others: quantiles of cosines, as CSV.

    similarity.py URL CORPUS.ken NAME=QUESTIONS.jsonl[.gz]:COUNT...

URL is a `ken serve` whose embedder embedded the corpus. `manuals` are the validation questions of `xtask/bench/answers`, by kind.
"""
import glob
import gzip
import json
import pathlib
import random
import re
import sys
import urllib.request

import numpy

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "xtask/bench/answers"))
import answers

AT_ONCE = 64


def embedded(url, texts):
    vectors = []
    for start in range(0, len(texts), AT_ONCE):
        body = {"model": "ken/embedder", "input": texts[start : start + AT_ONCE]}
        request = urllib.request.Request(f"{url}/v1/embeddings", json.dumps(body).encode(), {"content-type": "application/json"})
        vectors += [item["embedding"] for item in json.load(urllib.request.urlopen(request))["data"]]
    vectors = numpy.array(vectors, dtype=numpy.float32)
    return vectors / numpy.linalg.norm(vectors, axis=1, keepdims=True)


def sets(drawn):
    kinds = {}
    for question in answers.chosen(answers.read_questions(), "validation"):
        kinds.setdefault(f"manuals, {question['metadata']['kind']}", []).append(question["question"])
    random.seed(1)
    for word in drawn:
        name, path, count = re.fullmatch(r"(.+?)=(.+):(\d+)", word).groups()
        file = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
        lines = [json.loads(line)["question"] for line in file]
        random.shuffle(lines)
        kinds[name] = lines[: int(count)]
    return kinds


url, corpus, *drawn = sys.argv[1:]
files = sorted(glob.glob(f"{corpus}/segments/*/vectors.f32"))
vectors = {name: embedded(url, questions) for name, questions in sets(drawn).items()}
dimensions = next(iter(vectors.values())).shape[1]
passages = numpy.concatenate([numpy.fromfile(file, dtype=numpy.float32).reshape(-1, dimensions) for file in files])
levels = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
print("questions,count," + ",".join(f"q{level}" for level in levels) + ",at_most_0.35")
for name, questions in vectors.items():
    nearest = (questions @ passages.T).max(axis=1)
    quantiles = ",".join(f"{number:.3f}" for number in numpy.quantile(nearest, levels))
    print(f'"{name}",{len(nearest)},{quantiles},{(nearest <= 0.35).mean():.3f}')
