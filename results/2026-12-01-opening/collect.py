#!/usr/bin/env python3
"""Asks questions of `ken serve`, and keeps the log probabilities of every token of the answers that its policy measures.

    collect.py KEN MODEL CORPUS QUESTIONS.jsonl OUT.jsonl

KEN has two lines more than the program: in `Sample::of` (crates/probe/src/sample.rs) one that writes
`DUMP {"text": …, "logprobs": […]}` to standard error, and in `refuse` (crates/answer/src/measure/mod.rs) one that writes
`DUMP {"refusal": …}`. What is kept of a question are these numbers, whether each answer is right, and whether it is a refusal.
"""
import json
import pathlib
import subprocess
import sys
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2] / "xtask"
sys.path += [str(ROOT / "bench" / "answers"), str(ROOT / "clients")]

from answers import ken_arm
from judge import REFUSALS, is_right
from servers import free_port


def numbers(question, dumped):
    """Of the two answers, from memory and with the evidence, and of the refusal; `None` if the policy did not measure both."""
    drawn = [dump for dump in dumped if dump.get("logprobs")]
    if len(drawn) != 2:
        return None
    answers = {}
    for name, dump in zip(("memory", "evidence"), drawn):
        right = is_right(question, {"answer": dump["text"]})
        answers[name] = {
            "logprobs": [round(number, 4) for number in dump["logprobs"]],
            "right": right,
            "refused": bool(REFUSALS.search(dump["text"])) and not right,
        }
    refusals = [dump["refusal"] for dump in dumped if "refusal" in dump]
    return {**answers, "refusal": refusals[-1] if refusals else None}


def main(ken, model, corpus, questions, out):
    port = free_port()
    with open(f"{out}.log", "wb") as log:
        command = [ken, "serve", "--corpus", corpus, "--model", model, "--listen", f"127.0.0.1:{port}"]
        server = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        while True:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/ready")
                break
            except OSError:
                time.sleep(0.5)
        ask = ken_arm(f"http://127.0.0.1:{port}")
        for question in map(json.loads, open(questions)):
            before = pathlib.Path(f"{out}.log").stat().st_size
            ask(question["question"])
            with open(f"{out}.log", "rb") as log:
                log.seek(before)
                lines = log.read().decode(errors="replace").splitlines()
            dumped = [json.loads(line.split("DUMP ", 1)[1]) for line in lines if "DUMP " in line]
            record = {"id": question["id"], "kind": question["metadata"]["kind"], "measured": numbers(question, dumped)}
            with open(out, "a") as file:
                file.write(json.dumps(record) + "\n")
    finally:
        server.terminate()


if __name__ == "__main__":
    main(*sys.argv[1:])
