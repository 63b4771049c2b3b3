"""Ranks of the gold passages in the output of `ken search --json -`.

usage: retrieval.py QUESTIONS.jsonl SEARCH.jsonl [OUT.csv]
"""

import json
import sys

questions = [json.loads(line) for line in open(sys.argv[1])]
searches = [json.loads(line) for line in open(sys.argv[2])]
assert len(questions) == len(searches)
ranks = []
for question, search in zip(questions, searches):
    gold = question["metadata"]["gold_passage"]
    found = [hit["doc_id"] for hit in search["hits"]]
    ranks.append(found.index(gold) + 1 if gold in found else None)
for k in (1, 3, 10):
    share = sum(rank is not None and rank <= k for rank in ranks) / len(ranks)
    print(f"recall@{k} {share:.4f} of {len(ranks)}")
if len(sys.argv) > 3:
    with open(sys.argv[3], "w") as out:
        out.write("id,rank\n")
        for question, rank in zip(questions, ranks):
            out.write(f"{question['id']},{rank or ''}\n")
