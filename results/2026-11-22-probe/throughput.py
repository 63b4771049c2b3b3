"""Probes questions as `ken probe` does, by transformers: the same prompts, 30 samples of each by
`num_return_sequences`, log probabilities, answer types, certainty and confidence.

usage: throughput.py MODEL.gguf QUESTIONS.jsonl RECORDS.jsonl PASSAGES.jsonl ENGLISH.rs THREADS MAX_TOKENS

RECORDS is what ken probed; its evidence and its questions are taken. PASSAGES hold the evidence, and
ENGLISH.rs is crates/answer/src/prompt/english.rs, whose examples stand before every question.
Prints one JSON object.
"""

import ast
import collections
import json
import math
import os
import re
import string
import sys
import time

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer


def examples(source, name):
    block = source[source.index(f"const {name}") :]
    block = block[: block.index("];")]
    texts = re.findall(r'(?:input|output): ("(?:[^"\\]|\\.)*")', block)
    texts = [ast.literal_eval(text) for text in texts]
    return [(texts[at], texts[at + 1]) for at in range(0, len(texts), 2)]


def instruction(source, name):
    block = source[source.index(f"    {name}: Task") :]
    return ast.literal_eval(re.search(r'instruction: ("(?:[^"\\]|\\.)*")', block, re.S).group(1).replace("\\\n", ""))


def prompt(task, shown, body):
    return task + "\n\n" + "".join(f"{given} {answer}\n\n" for given, answer in shown) + body


def normalized(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def main():
    model_path, _, records_path, passages_path, english, threads, max_tokens = sys.argv[1:]
    torch.set_num_threads(int(threads))
    with open(english, encoding="utf-8") as file:
        source = file.read()
    memory = instruction(source, "from_memory"), examples(source, "FROM_MEMORY_EXAMPLES")
    evidence = instruction(source, "from_evidence"), examples(source, "FROM_EVIDENCE_EXAMPLES")
    with open(records_path, encoding="utf-8") as file:
        records = [json.loads(line) for line in file][1:]
    passages = {}
    if passages_path != "-":
        with open(passages_path, encoding="utf-8") as file:
            for line in file:
                document = json.loads(line)
                passages[f"{document['id']}#0"] = document
    folder, name = os.path.split(model_path)
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
    model.eval()

    asked = []
    for record in records:
        question = f"Question: {record['question']}\nAnswer:"
        prompts = [prompt(*memory, question)]
        if record["samples"]["corpus"] is not None:
            for masked in (False, True):
                text = ""
                for number, passage in reversed(list(enumerate(record["evidence"], 1))):
                    document = passages[passage]
                    title = document.get("title") or ""
                    body = document["contents"]
                    if title and body.startswith(title):
                        body = body[len(title) :].lstrip()
                    if masked:
                        for answer in record["golden_answers"]:
                            body = re.sub(re.escape(answer), "MASK", body, flags=re.I)
                    text += f"[{number}] {title}: {body}\n"
                prompts.append(prompt(*evidence, text + question))
            if record["masked_places"] == 0:
                prompts.pop()
        asked.append((record, prompts))

    started = time.perf_counter()
    confidences, tokens, read = [], 0, 0
    with torch.inference_mode():
        for record, prompts in asked:
            for at, text in enumerate(prompts):
                inputs = tokenizer(text, return_tensors="pt")
                read += inputs["input_ids"].shape[1]
                written = model.generate(
                    **inputs,
                    do_sample=True,
                    temperature=1.0,
                    top_k=0,
                    top_p=1.0,
                    num_return_sequences=30,
                    max_new_tokens=int(max_tokens),
                    pad_token_id=tokenizer.eos_token_id,
                    stop_strings=["\n"],
                    tokenizer=tokenizer,
                    output_logits=True,
                    return_dict_in_generate=True,
                )
                model.compute_transition_scores(
                    written.sequences, written.logits, normalize_logits=True
                )
                new = written.sequences[:, inputs["input_ids"].shape[1] :]
                tokens += int((new != tokenizer.eos_token_id).sum())
                answers = [tokenizer.decode(row, skip_special_tokens=True).strip().split("\n")[0] for row in new]
                types = collections.Counter(map(normalized, answers))
                golds = {normalized(answer) for answer in record["golden_answers"]}
                sum(-n / 30 * math.log(n / 30) for n in types.values())
                if at == 0:
                    confidences.append(sum(normalized(answer) in golds for answer in answers) / 30)
    seconds = time.perf_counter() - started
    print(
        json.dumps(
            {
                "questions": len(asked),
                "prompts": sum(len(prompts) for _, prompts in asked),
                "seconds": seconds,
                "questions_per_s": len(asked) / seconds,
                "read_tokens": read,
                "written_tokens": tokens,
                "mean_confidence_self": sum(confidences) / len(confidences),
            }
        )
    )


main()
