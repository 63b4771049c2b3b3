"""What tells that a question is not about the documents, and that the model knows its answer: each question's signals.

    memory.py URL OUT.jsonl [NAME=QUESTIONS.jsonl.gz:COUNT...]

URL is a `ken serve` over the manuals (`xtask/bench/answers`). Asked are its validation questions of general knowledge, those of `general.jsonl`,
questions about the documents as a whole (below), and COUNT questions drawn from each file named. Of the latter only numbers are kept.
"""
import gzip
import json
import pathlib
import random
import re
import sys
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "xtask/bench/answers"))
import answers
import judge

ABOUT_THE_DOCUMENTS = """how do I start?|what is this about?|give me a summary|what does it cost?|tell me more about the configuration
what are the main sections of these documents?|how does it work?|is there an example?|Summarize the documents.|Who wrote this?
What is the latest version?|How can I contact support?|List all topics covered.|Which file should I read first?|Where is the default setting?
What changed since last year?|Who is the maintainer?|Is it free?|What are the requirements?|How long does it take?|Can I turn it off?
What happens when it fails?|Why is it slow?|What should I do next?"""


# Kinds of which the questions and answers are kept.
OWN = ("general", "more general", "about the documents")


def ask(url, policy, question):
    body = {"model": f"ken/{policy}", "messages": [{"role": "user", "content": question}]}
    request = urllib.request.Request(f"{url}/v1/chat/completions", json.dumps(body).encode(), {"content-type": "application/json"})
    said = json.load(urllib.request.urlopen(request))
    number = re.search(r", (-?[0-9.]+),? is (?:not )?above", said["ken"]["reason"])
    return said["choices"][0]["message"]["content"], float(number[1]) if number else None


def questions(drawn):
    for question in answers.chosen(answers.read_questions(), "validation"):
        if question["metadata"]["kind"] == "general":
            yield "general", question["question"], question["golden_answers"]
    for line in open(HERE / "general.jsonl"):
        question = json.loads(line)
        yield "more general", question["question"], question["golden_answers"]
    for question in re.split(r"[|\n]", ABOUT_THE_DOCUMENTS):
        yield "about the documents", question, []
    random.seed(7)
    for word in drawn:
        name, path, count = re.fullmatch(r"(.+?)=(.+):(\d+)", word).groups()
        lines = [json.loads(line) for line in gzip.open(path, "rt")]
        random.shuffle(lines)
        for line in lines[: int(count)]:
            yield name, line["question"], line["golden_answers"]


url, out, *drawn = sys.argv[1:]
with open(out, "w") as file:
    for kind, question, golden in questions(drawn):
        answer, perplexity = ask(url, "uncertainty:perplexity@1000", question)
        record = {"kind": kind, "right": judge.is_right({"golden_answers": golden}, {"answer": answer}), "perplexity": perplexity}
        record["uncertainty"] = ask(url, "certainty@1", question)[1]
        record["cosine"] = ask(url, "evidence:cosine@1", question)[1]
        record["assurance"] = ask(url, "evidence:assurance@-1000", question)[1]
        if kind in OWN:
            record |= {"question": question, "answer": answer}
        file.write(json.dumps(record) + "\n")
        file.flush()
