#!/usr/bin/env python3
"""Mixed traffic: questions that a corpus covers (Natural Questions), shuffled with as many that it does not cover
(TriviaQA and WebQuestions).

    python3 mixed.py DATA > mixed.jsonl

DATA has `nq`, `triviaqa` and `webq`, each as NAME.questions.jsonl.gz.
"""
import gzip
import json
import random
import sys

draw = random.Random(7)
mixed = []
for name, count in [("nq", 1000), ("triviaqa", 500), ("webq", 500)]:
    with gzip.open(f"{sys.argv[1]}/{name}.questions.jsonl.gz", "rt") as lines:
        questions = [json.loads(line) for line in lines]
    draw.shuffle(questions)
    for question in questions[:count]:
        question["id"] = f"{name}-{question['id']}"
        question.setdefault("metadata", {})["set"] = name
        mixed.append(question)
draw.shuffle(mixed)
for question in mixed:
    print(json.dumps(question))
