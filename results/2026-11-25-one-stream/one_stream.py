#!/usr/bin/env python3
"""One stream of a GGUF file in ken and in llama.cpp (PyPI's xllamacpp), in turns, and what memory gives meanwhile.

    cargo build --release -p ken && cc -O2 -mavx512f bandwidth.c -o bandwidth -lpthread
    venv/bin/python one_stream.py ROUNDS MODEL.gguf BEFORE/ken AFTER/ken > MODEL.json

Seconds to the first token are of ken's whole process, and in llama.cpp's from the start of its server on.
"""
import json
import pathlib
import subprocess
import sys
import time

QUESTION = "Explain step by step how to sort a list of numbers in Python, with code."
TOKENS = 64


def out_of(command):
    started = time.perf_counter()
    out = json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)
    return time.perf_counter() - started, out


def ken(program, path, precision):
    ask = [program, "ask", "--policy", "never", "--model", path, "--precision", precision, "--json", QUESTION]
    load, _ = out_of(ask + ["--max-tokens", "1"])
    _, answer = out_of(ask + ["--max-tokens", str(TOKENS)])
    written = answer["tokens"]["completion"]
    assert written == TOKENS, answer
    return {"first_token_s": load, "tokens_per_s": written / answer["timing_ms"]["write"] * 1e3}


def llama(path):
    """In a process of its own."""
    import xllamacpp

    started = time.perf_counter()
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = 1024
    params.n_parallel = 1
    params.n_batch = params.n_ubatch = 512
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.warmup = False
    server = xllamacpp.Server(params)

    def write(tokens):
        request = dict(prompt=QUESTION, max_tokens=tokens, temperature=0, cache_prompt=False, ignore_eos=True)
        begun = time.perf_counter()
        assert server.handle_completions(request)["usage"]["completion_tokens"] == tokens
        return time.perf_counter() - begun

    write(1)
    load = time.perf_counter() - started
    print(json.dumps({"first_token_s": load, "tokens_per_s": (TOKENS - 1) / (write(TOKENS) - write(1))}))


def main():
    if sys.argv[1] == "--llama":
        return llama(sys.argv[2])
    rounds, path, before, after = int(sys.argv[1]), *sys.argv[2:]
    bandwidth = str(pathlib.Path(__file__).with_name("bandwidth"))
    out = []
    for _ in range(rounds):
        out.append({
            "memory_gb_per_s": out_of([bandwidth])[1],
            "llama.cpp": out_of([sys.executable, __file__, "--llama", path])[1],
            "before, int8": ken(before, path, "int8"),
            "int8": ken(after, path, "int8"),
            "before, f32": ken(before, path, "f32"),
            "f32": ken(after, path, "f32"),
        })
        print(json.dumps(out[-1]), file=sys.stderr)
    print(json.dumps(out, indent=1))


main()
