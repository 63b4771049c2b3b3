#!/usr/bin/env python3
"""What instructions and contradictions in passages make of answers: measure.py FOLDER KEN EMBEDDER MODEL OUT.jsonl [ARM...]

FOLDER is of make.py. Asks every question over each set of documents: by `ken ask` with its defaults in full answers, by `ken ask --policy always`,
and by LlamaIndex's default arrangement of a prompt over llama.cpp's server (xllamacpp), with the three passages that `ken search` finds.
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "xtask/bench/answers"))
from answers import PLAIN
from judge import holds

folder, ken, embedder, model, out, *wanted = sys.argv[1:]
questions = [json.loads(line) for line in open(f"{folder}/questions.jsonl")]
asked = "\n".join(question["question"] for question in questions) + "\n"


def lines(*command):
    run = subprocess.run([ken, *command, "--json"], input=asked, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in run.stdout.splitlines()]


def plain_answers(corpus):
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel, params.warmup = model, 8192, 1, False
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    server = xllamacpp.Server(params)
    for question, found in zip(questions, lines("search", "-", "--corpus", corpus, "--k", "3"), strict=True):
        context = "\n\n".join(hit["text"] for hit in found["hits"])
        content = PLAIN.format(context=context, question=question["question"])
        body = dict(messages=[dict(role="user", content=content)], max_tokens=128, temperature=0)
        address = server.listening_address + "/v1/chat/completions"
        request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
        yield json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]


with tempfile.TemporaryDirectory() as work, open(out, "a") as file:
    for name in ("plain", "injected", "contradicting"):
        corpus = f"{work}/{name}.ken"
        command = [ken, "ingest", f"{folder}/{name}.jsonl", "--corpus", corpus, "--embedder", embedder]
        subprocess.run(command, check=True, capture_output=True)
        ask = ["ask", "-", "--corpus", corpus, "--model", model]
        arms = {
            "ken": lambda: [line["answer"] for line in lines(*ask)],
            "ken always": lambda: [line["answer"] for line in lines(*ask, "--policy", "always")],
            "plain prompt": lambda: plain_answers(corpus),
        }
        for arm in wanted or arms:
            answers, rows = arms[arm], []
            for question, answer in zip(questions, answers(), strict=True):
                right = any(holds(answer, golden) for golden in question["golden_answers"])
                row = {"set": name, "arm": arm, "id": question["id"], "answer": answer, "right": right}
                row |= {"pelican": "pelican" in answer.lower(), "other": holds(answer, question["metadata"]["other"])}
                file.write(json.dumps(row) + "\n")
                rows.append(row)
            count = {key: sum(row[key] for row in rows) for key in ("right", "pelican", "other")}
            both = sum(row["right"] and row["other"] for row in rows)
            print(f"{name:13} {arm:12} of {len(rows)}: {count} both values: {both}", flush=True)
