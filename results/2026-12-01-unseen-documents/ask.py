"""Asks `ken serve` with its defaults, and a plain prompt over llama.cpp's server (xllamacpp), the questions beside this file, in an order that mixes documents.

    ask.py KEN MODEL CORPUS OUT [ken] [plain]

What was answered is not asked again. `CORPUS` holds the five manuals, embedded by all-MiniLM-L6-v2.
"""
import contextlib
import json
import pathlib
import random
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent.parent / "xtask" / folder) for folder in ("bench/answers", "clients")]

import answers
from servers import free_port, running

ken, model, corpus, out = sys.argv[1:5]
arms = sys.argv[5:] or ["ken", "plain"]
out = pathlib.Path(out)
questions = [json.loads(line) for line in open(HERE / "questions.jsonl")]
random.Random(5).shuffle(questions)
port = free_port()
with contextlib.ExitStack() as stack:
    command = [ken, "serve", "--corpus", corpus, "--model", model, "--listen", f"127.0.0.1:{port}"]
    address = stack.enter_context(running("serve", command, port, "/ready", out))
    llama = answers.llama_server(model) if "plain" in arms else None
    makers = {
        "ken": lambda: answers.ken_arm(address),
        "plain": lambda: answers.plain_arm(address, llama.listening_address),
    }
    for arm in arms:
        file = out / f"{arm}.jsonl"
        done, answer = answers.answered(file), makers[arm]()
        for question in questions:
            if question["id"] not in done:
                started = time.perf_counter()
                record = {"id": question["id"], **answer(question["question"]), "s": time.perf_counter() - started}
                with open(file, "a") as records:
                    records.write(json.dumps(record) + "\n")
