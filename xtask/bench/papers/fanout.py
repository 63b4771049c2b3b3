"""Questions of several hops and the single hops they take (fanoutqa, 310 questions), and a corpus of what the hops found.

The package has no articles, only what they answer. So a passage has the title of an article, and the hops asked of it with their answers: a
search finds more easily here than in the articles. Most answers of several hops are tables, which no answer matches exactly; F1 tells of them.
"""
import collections
import json

from ground import package_folder, passage, question


def build():
    rows = json.loads((package_folder("fanoutqa") / "data/fanout-final-dev.json").read_text(encoding="utf-8"))
    questions, articles = {}, collections.defaultdict(list)
    for row in rows:
        answer, kind = as_text(row["answer"]), type(row["answer"]).__name__
        questions[row["question"]] = question(row["id"], row["question"], [answer], row["id"], hops="several", answer=kind)
        for hop in leaves(row):
            title, answer = hop["evidence"]["title"], as_text(hop["answer"])
            articles[title].append(f"{hop['question']} {answer}.")
            if isinstance(hop["answer"], (str, int, float)) and not isinstance(hop["answer"], bool) and answer:
                facts = {"hops": "one", "answer": type(hop["answer"]).__name__, "gold_passage": title}
                questions.setdefault(hop["question"], question(hop["id"], hop["question"], [answer], row["id"], **facts))
    passages = [passage(title, title, " ".join(dict.fromkeys(texts))) for title, texts in articles.items()]
    return list(questions.values()), {"fanout": passages}


def leaves(row):
    """The hops that are not decomposed further and name the article that answers them."""
    for hop in row["decomposition"]:
        if hop["decomposition"]:
            yield from leaves(hop)
        elif hop["evidence"]:
            yield hop


def as_text(answer):
    if isinstance(answer, dict):
        return ", ".join(f"{key}: {as_text(value)}" for key, value in answer.items())
    if isinstance(answer, list):
        return ", ".join(map(as_text, answer))
    return str(answer)
