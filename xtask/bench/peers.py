"""Does the work of `ken doctor --bench --json` by transformers and sentence-transformers.

usage: peers.py FINDINGS.json THREADS

FINDINGS.json is what ken printed; it holds the texts and says where the two models lie. Prints one
JSON object with the same rates.
"""

import json
import os
import sys
import time

import torch
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForCausalLM, AutoTokenizer


def timed(work):
    started = time.perf_counter()
    result = work()
    return result, time.perf_counter() - started


def sample(model, tokenizer, work):
    """Tokens a second: every question's samples in one batch, as `num_return_sequences` does it."""

    def run():
        tokens = 0
        for question in work["sampled"]:
            inputs = tokenizer(work["shared"] + question, return_tensors="pt")
            written = model.generate(
                **inputs,
                do_sample=True,
                temperature=1.0,
                top_k=0,
                top_p=1.0,
                num_return_sequences=work["samples"],
                max_new_tokens=work["sample_tokens"],
                pad_token_id=tokenizer.eos_token_id,
            )
            new = written[:, inputs["input_ids"].shape[1] :]
            tokens += int((new != tokenizer.eos_token_id).sum())
        return tokens

    tokens, seconds = timed(run)
    return tokens / seconds


def read(model, tokenizer, work):
    inputs = tokenizer(work["long"], return_tensors="pt")
    _, seconds = timed(lambda: model(**inputs, logits_to_keep=1))
    return inputs["input_ids"].shape[1] / seconds


def score(model, tokenizer, work):
    """Contexts a second: the contexts of a question padded into one batch."""

    def run():
        count = 0
        for scored in work["scored"]:
            answer = tokenizer(" " + scored["answer"])["input_ids"]
            prompts = [
                tokenizer(f"{work['shared']}{context}\nQuestion: {scored['question']}\nAnswer:")["input_ids"]
                for context in scored["contexts"]
            ]
            longest = max(map(len, prompts)) + len(answer)
            rows, mask = [], []
            for prompt in prompts:
                padding = longest - len(prompt) - len(answer)
                rows.append([tokenizer.eos_token_id] * padding + prompt + answer)
                mask.append([0] * padding + [1] * (longest - padding))
            logits = model(
                input_ids=torch.tensor(rows),
                attention_mask=torch.tensor(mask),
                logits_to_keep=len(answer) + 1,
            ).logits
            logprobs = torch.log_softmax(logits[:, :-1].float(), dim=-1)
            targets = torch.tensor(answer).expand(len(rows), -1).unsqueeze(-1)
            logprobs.gather(-1, targets).sum(dim=(1, 2))
            count += len(rows)
        return count

    count, seconds = timed(run)
    return count / seconds


def stream(model, tokenizer, work):
    inputs = tokenizer("Once upon a time there was", return_tensors="pt")
    written, seconds = timed(
        lambda: model.generate(
            **inputs,
            do_sample=False,
            max_new_tokens=work["stream_tokens"],
            pad_token_id=tokenizer.eos_token_id,
        )
    )
    return (written.shape[1] - inputs["input_ids"].shape[1]) / seconds


def main():
    findings_path, threads = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(threads)
    with open(findings_path, encoding="utf-8") as file:
        findings = json.load(file)
    work = findings["bench"]["workload"]
    folder, name = os.path.split(findings["model"]["path"])
    with torch.inference_mode():
        tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
        model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32)
        model.eval()
        rates = {
            "sample_tokens_per_s": sample(model, tokenizer, work),
            "read_tokens_per_s": read(model, tokenizer, work),
            "score_contexts_per_s": score(model, tokenizer, work),
            "stream_tokens_per_s": stream(model, tokenizer, work),
        }
        embedder = SentenceTransformer(findings["embedder"]["path"], device="cpu")
        passages = work["passages"]
        _, seconds = timed(lambda: embedder.encode(passages, normalize_embeddings=True))
        rates["embed_passages_per_s"] = len(passages) / seconds
    print(json.dumps(rates))


main()
