"""What the model would answer if it might not refuse: may_not_refuse.py SERVER QUESTIONS OUT

QUESTIONS are JSON Lines with `id`, `kind`, `question` and `hits`, the passages found, with `text`. Where the greedy answer is the refusal, the text that leaves it at the
most probable token is completed.
"""
import json
import pathlib
import re
import sys
import urllib.request

ENGLISH = pathlib.Path(__file__).resolve().parents[2] / "crates/answer/src/prompt/english.rs"
REFUSAL = "The documents do not say"


def plain(rust):
    return re.sub(r"\\\n\s*", "", rust).replace("\\n", "\n").replace('\\"', '"')


def turns():
    full = ENGLISH.read_text().split("full: FullWording")[1]
    instruction = re.search(r'instruction: "(.*?)",\n', full, re.S)[1]
    shown = full[full.index("worked_examples!") : full.index("from_memory")]
    examples = re.findall(r'"((?:[^"\\]|\\.)*)"\s*=>\s*"((?:[^"\\]|\\.)*)"', shown, re.S)
    return [("system", plain(instruction)), *((role, plain(text)) for pair in examples for role, text in zip(("user", "assistant"), pair))]


def complete(server, prompt):
    body = {"model": "ken", "prompt": prompt, "max_tokens": 48, "temperature": 0, "logprobs": 20, "stop": ["<|im_end|>"]}
    request = urllib.request.Request(f"{server}/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    choice = json.load(urllib.request.urlopen(request))["choices"][0]
    return choice["text"], choice["logprobs"]


def leaving(logprobs):
    """The most probable beginning that is no beginning of the refusal, with its log probability."""
    best, total, before = None, 0.0, ""
    for token, logprob, top in zip(logprobs["tokens"], logprobs["token_logprobs"], logprobs["top_logprobs"]):
        others = [(total + value, before + other) for other, value in top.items() if other != token]
        best = max([*others, *([best] if best else [])])
        total, before = total + logprob, before + token
        if before.strip() == REFUSAL:
            return best


def main(server, questions, out):
    shown = turns()
    with open(out, "a") as file:
        for question in map(json.loads, open(questions)):
            passages = "\n".join(f"[{rank}] {hit['text']}" for rank, hit in reversed(list(enumerate(question["hits"][:3], 1))))
            asked = [*shown, ("user", f"{passages}\n\nQuestion: {question['question']}\nAnswer:")]
            prompt = "".join(f"<|im_start|>{role}\n{text}<|im_end|>\n" for role, text in asked) + "<|im_start|>assistant\n"
            text, logprobs = complete(server, prompt)
            record = {"id": question["id"], "kind": question["kind"], "text": text, "lps": logprobs["token_logprobs"]}
            if text.strip().startswith(REFUSAL):
                left, beginning = leaving(logprobs)
                rest, of_rest = complete(server, prompt + beginning)
                record |= {"R": sum(logprobs["token_logprobs"]), "alt": beginning + rest, "div": left, "alps": of_rest["token_logprobs"]}
            file.write(json.dumps(record) + "\n")


main(*sys.argv[1:])
