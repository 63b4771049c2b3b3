"""Gold-answer coverage of the output of `ken search --json -`, by items and by words.

usage: coverage.py QUESTIONS.jsonl SEARCH.jsonl...

An item is a passage or a chunk. A question is covered if a golden answer stands in one of its
first k items, or in the part of them that is within the first W words of all, after the
normalization of exact match.
"""

import json
import re
import string
import sys

ITEMS = (1, 3, 8)
WORDS = (25, 50, 100, 200, 400)


def normalized(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def covered(texts, answers):
    padded = [f" {normalized(text)} " for text in texts]
    golds = [f" {normalized(answer)} " for answer in answers]
    return any(gold in text for text in padded for gold in golds if gold.strip())


def within(texts, words):
    kept = []
    for text in texts:
        part = text.split()[:words]
        words -= len(part)
        kept.append(" ".join(part))
    return kept


questions = [json.loads(line) for line in open(sys.argv[1])]
for path in sys.argv[2:]:
    searches = [json.loads(line) for line in open(path)]
    assert len(questions) == len(searches)
    found = [[hit["text"] for hit in search["hits"]] for search in searches]
    golds = [question["golden_answers"] for question in questions]

    def share(cut):
        return sum(covered(cut(texts), gold) for texts, gold in zip(found, golds)) / len(golds)

    by_items = [f"{share(lambda texts: texts[:k]):.2f}" for k in ITEMS]
    by_words = [f"{share(lambda texts: within(texts, words)):.2f}" for words in WORDS]
    length = sum(len(text.split()) for texts in found for text in texts[:8]) / len(found)
    print(path, *by_items, *by_words, f"{length:.0f}", sep=" | ")
