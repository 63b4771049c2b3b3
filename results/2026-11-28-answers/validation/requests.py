"""Requests for try_prompts: requests.py QUESTIONS.jsonl HITS.json PROMPT K. HITS maps the id of each question to the hits
of `ken search --k 10 --json`, each with its title and heading as `full_title`."""
import json
import sys

import prompts

questions, hits, prompt, k = sys.argv[1:]
hits = json.load(open(hits))
for line in open(questions):
    question = json.loads(line)
    for request in getattr(prompts, prompt)(question["question"], hits[question["id"]][: int(k)]):
        print(json.dumps(dict(id=question["id"], variant=prompt, examples=[], instruction="") | request))
