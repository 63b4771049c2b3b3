"""What tells that passages do not hold the answer: requests for try_prompts, first for answers, then for signals of these.

    signals.py answers QUESTIONS.jsonl HITS.json PROMPT > answers.requests
    signals.py signals QUESTIONS.jsonl HITS.json PROMPT ANSWERS.jsonl > signals.requests
    signals.py auroc QUESTIONS.jsonl ANSWERS.jsonl SIGNALS.jsonl

PROMPT is `short0` (0.5B) or `full6` (1.5B). Each stated question is asked twice: from its three best passages, and, with `~` behind its id, from
the three best that hold no golden answer.
"""
import json
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))
import prompts
from bench import holds
from prompts import ME, MI, YE, YI, line

VI="Each message holds passages, a question and an answer. Say whether the passages state that this is the answer to the question: yes or no."
VE=[["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon; a car costs 12 crowns.\n\nQuestion: What does it cost to take a bicycle to Laun?\nAnswer: 12 crowns\nStated:","no"],
["[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\n\nQuestion: Who made the bell of Orsand?\nAnswer: Maria Tolvik\nStated:","yes"],
["[1] Tide log: With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\n[2] Tide gauge: The gauge measures every ten minutes.\n\nQuestion: For how many days does the tide log keep its files?\nAnswer: 30 days\nStated:","no"],
["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: Bicycles travel free on the ferry to Laun; a car costs 12 crowns.\n\nQuestion: What does it cost to take a car to Laun?\nAnswer: 12 crowns\nStated:","yes"]]
N1=["[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon; a car costs 12 crowns.\nQuestion: how long does the ferry to laun take\nAnswer:","not stated"]
N2=["[1] Tide log: With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\nQuestion: for how many days does the tide log keep its files\nAnswer:","not stated"]


def passages(question, hits, without):
    """The three best, or the three best that hold no golden answer."""
    golden = question["golden_answers"]
    kept = [hit for hit in hits if not (without and any(holds(hit["text"], answer) for answer in golden))]
    return kept[:3]


def evidence(found):
    return "".join(line(number, hit) for number, hit in reversed(list(enumerate(found, 1))))


def show(id, variant, **request):
    print(json.dumps(dict(id=id, variant=variant, instruction="", examples=[], reply="line") | request))


def ask(questions, hits, prompt):
    for question in questions.values():
        kind = question["metadata"]["kind"]
        for mark in ["", "~"] if kind == "stated" else [""] if kind == "unanswerable" else []:
            found = passages(question, hits[question["id"]], mark)
            for request in getattr(prompts, prompt)(question["question"], found):
                show(question["id"] + mark, prompt, **request)


def measure(questions, hits, prompt, answers):
    for record in map(json.loads, open(answers)):
        id = record["id"]
        question = questions[id.strip("~")]
        asked, found = question["question"], passages(question, hits[question["id"]], id.endswith("~"))
        answer = " ".join(re.sub(r"\s*\[\d+\]", "", record["text"]).split())
        told, verdict = evidence(found), ["yes", "no"]
        show(id, "yes", instruction=YI, examples=YE, input=f"{told}\nQuestion: {asked}\nStated:", continuations=verdict)
        text = f"{told}\nQuestion: {asked}\nAnswer: {answer}\nStated:"
        show(id, "ver", instruction=VI, examples=VE, input=text, continuations=verdict)
        own = getattr(prompts, prompt)(asked, found)[0]
        instruction, examples = own["instruction"], list(own["examples"])
        if prompt == "short0":
            refusal = "not stated"
            instruction = instruction.replace("Write nothing else.", 'Where they do not state it, write "not stated".')
        else:
            refusal = "The documents do not say."
            instruction += f'\nWhere the passages do not state the answer, write "{refusal}"'
        examples = [[N1[0], refusal], *examples[:2], [N2[0], refusal], *examples[2:]]
        show(id, "ref2", instruction=instruction, examples=examples, input=own["input"], continuations=[refusal, answer])
        other = getattr(prompts, prompt)("What is it?", found)[0]
        show(id, "pmi", **{name: other[name] for name in ["instruction", "examples", "input"]}, continuations=[answer])
        show(id, "mem", instruction=MI, examples=ME, input=f"Question: {asked}\nAnswer:", continuations=[answer])


def mean(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0


def auroc(questions, answers, signals):
    scores = {}
    for record in map(json.loads, open(signals)):
        scores.setdefault(record["id"], {})[record["variant"]] = record["scores"]
    groups = {}
    for record in map(json.loads, open(answers)):
        id, own = record["id"], scores[record["id"]]
        question = questions[id.strip("~")]
        is_right = any(holds(record["text"], golden) for golden in question["golden_answers"])
        unanswerable = question["metadata"]["kind"] == "unanswerable"
        group = "unanswerable" if unanswerable else "without" if id.endswith("~") else "right" if is_right else "wrong"
        likelihood = mean(record["logprobs"])
        yes, verified = (own[name][0][0] - own[name][1][0] for name in ["yes", "ver"])
        values = {
            "likelihood": likelihood,
            "states an answer": yes,
            "states this answer": verified,
            "both": 3 * likelihood + verified,
            "against a refusal": mean(own["ref2"][1]) - sum(own["ref2"][0]),
            "what the question adds": likelihood - mean(own["pmi"][0]),
        }
        for name, value in values.items():
            groups.setdefault(name, {}).setdefault(group, []).append(value)
    for name, of in groups.items():
        pairs = {other: [(one > two) + (one == two) / 2 for one in of["right"] for two in of[other]] for other in of if other != "right"}
        print(name, {other: f"{mean(won):.2f}" for other, won in pairs.items()}, {group: len(own) for group, own in of.items()})


verb, questions, *rest = sys.argv[1:]
questions = {question["id"]: question for question in map(json.loads, open(questions))}
if verb == "auroc":
    auroc(questions, *rest)
else:
    hits = json.load(open(rest[0]))
    ask(questions, hits, rest[1]) if verb == "answers" else measure(questions, hits, *rest[1:])
