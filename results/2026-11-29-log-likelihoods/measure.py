"""Log likelihoods of choices by ken serve and by llama-cpp-python with logits_all, the same GGUF, in turns.
measure.py KEN MODEL.gguf ROWS.jsonl SLOW > measured.csv   (rows.jsonl of results/2026-11-29-lm-eval/make.py)

Ways: `ken` sends the choices of a question as one request of /v1/completions with echo, and `ken_int8` to a server that computes as llama.cpp does, with
activations in 8 bits; `server` sends each of them to llama_cpp.server, as lm-evaluation-harness does, for the first SLOW questions; `process` scores them in this process with Llama.eval and numpy, keeping the tokens of
the question between its choices: as little work as llama-cpp-python can do for it."""
import csv, json, subprocess, sys, time, urllib.request
from functools import partial

import numpy as np
from llama_cpp import Llama

ken, model, rows, slow = sys.argv[1:]
rows = [json.loads(line) for line in open(rows)]
asked = [(f"{row['passage']}\n\nQuestion: {row['question']}\nAnswer:", [" " + choice for choice in row["choices"]]) for row in rows]


def post(port, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request, timeout=600))


def started(command, port, path):
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(600):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5)
            return process
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"no server at {port}")


def of_choice(choice, context):
    """The sum over the tokens that begin behind the context."""
    told = choice["logprobs"]
    return sum(value for value, at in zip(told["token_logprobs"], told["text_offset"]) if at >= len(context) and value is not None)


def by_ken(port, context, choices):
    body = {"model": "ken", "prompt": [context + choice for choice in choices], "max_tokens": 0, "echo": True, "logprobs": 1}
    return [of_choice(choice, context) for choice in post(port, "/v1/completions", body)["choices"]]


def by_server(context, choices):
    found = []
    for choice in choices:
        body = {"prompt": context + choice, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}
        [answer] = post(8001, "/v1/completions", body)["choices"]
        told = answer["logprobs"]
        end = len(context + choice)
        pairs = zip(told["token_logprobs"], told["text_offset"])
        found.append(sum(value for value, at in pairs if len(context) <= at < end and value is not None))
    return found


llama = Llama(model, n_ctx=2048, n_threads=2, n_threads_batch=2, logits_all=True, verbose=False)


def in_process(context, choices):
    head = llama.tokenize(context.encode(), add_bos=False, special=False)
    llama.reset()
    llama.eval(head)
    found = []
    for choice in choices:
        tokens = llama.tokenize((context + choice).encode(), add_bos=False, special=False)
        # A choice may be cut otherwise together with the context; from the first other token on it is read.
        kept = next((at for at, (one, other) in enumerate(zip(head, tokens)) if one != other), min(len(head), len(tokens)))
        llama.n_tokens = kept
        llama._ctx.kv_cache_seq_rm(-1, kept, -1)
        llama.eval(tokens[kept:])
        logits = llama.scores[kept - 1 : len(tokens) - 1].astype(np.float64)
        normal = logits - np.log(np.exp(logits - logits.max(1, keepdims=True)).sum(1, keepdims=True)) - logits.max(1, keepdims=True)
        found.append(float(normal[np.arange(len(tokens) - kept), tokens[kept:]].sum()))
    return found


def ken_on(port, *more):
    command = [ken, "serve", "--policy", "never", "--model", model, "--threads", "2", "--listen", f"127.0.0.1:{port}", *more]
    return started(command, port, "/ready")


servers = [
    ken_on(8484), ken_on(8485, "--precision", "int8"),
    started([sys.executable, "-m", "llama_cpp.server", "--model", model, "--port", "8001", "--n_ctx", "2048", "--n_threads", "2",
             "--n_threads_batch", "2", "--logits_all", "true", "--verbose", "false"], 8001, "/v1/models"),
]
ways = {"ken": partial(by_ken, 8484), "ken_int8": partial(by_ken, 8485), "process": in_process, "server": by_server}
out = csv.writer(sys.stdout)
out.writerow(["question", "way", "seconds", *[f"choice_{n}" for n in range(4)]])
try:
    for way in ways.values():
        way("The capital of France is", [" Paris"])
    for number, (context, choices) in enumerate(asked):
        for name, way in ways.items():
            if name == "server" and number >= int(slow):
                continue
            begun = time.perf_counter()
            found = way(context, choices)
            taken = time.perf_counter() - begun
            out.writerow([number, name, f"{taken:.4f}", *[f"{value:.5f}" for value in found]])
            sys.stdout.flush()
finally:
    for server in servers:
        server.kill()
