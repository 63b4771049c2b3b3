#!/usr/bin/env python3
"""1,000 questions each of Natural Questions, TriviaQA and WebQuestions; those of mixed.py are among them.

    python3 closed.py DATA > closed.jsonl
"""
import gzip
import json
import random
import sys

draw = random.Random(7)
closed = []
for name in ["nq", "triviaqa", "webq"]:
    with gzip.open(f"{sys.argv[1]}/{name}.questions.jsonl.gz", "rt") as lines:
        questions = [json.loads(line) for line in lines]
    draw.shuffle(questions)
    for question in questions[:1000]:
        question["id"] = f"{name}-{question['id']}"
        question.setdefault("metadata", {})["set"] = name
        closed.append(question)
draw.shuffle(closed)
for question in closed:
    print(json.dumps(question))
