#!/usr/bin/env python3
"""What a large GGUF file takes in ken and in llama.cpp (PyPI's xllamacpp): seconds to the first token, peak memory, tokens
read and written a second. Rates are of differences between runs that do more and less, but for what ken says of its writing;
of three rounds the best counts.

    cargo xtask gguf --shape llama3-8b large.gguf
    venv/bin/python large.py ken large.gguf > large.json
"""
import json
import os
import resource
import subprocess
import sys
import time

WORDS = "the lamp of the old house by the water was lit by a man who kept a book of ships and of the weather "
READ = WORDS * 5
STREAM = "Once upon a time there was"
WRITTEN = 32
ROUNDS = 3


def run(command, **variables):
    """Seconds, peak memory in GB, and what it prints."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, env=os.environ | variables)
    out = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    return time.perf_counter() - started, usage.ru_maxrss / 1e6, json.loads(out)


def ken(program, path, precision):
    score = [program, "model", "score", path, "--precision", precision, "--json", "--continuation", " x", "--prompt"]
    ask = [program, "ask", "--policy", "never", "--model", path, "--precision", precision, "--json", STREAM]
    rounds = []
    for _ in range(ROUNDS):
        short = run(score + ["x"])
        long = run(score + [READ])
        rounds.append((short, long, run(ask + ["--max-tokens", str(WRITTEN)])))
    load, longest = (min(each[i][0] for each in rounds) for i in (0, 1))
    few, many = (len(rounds[0][i][2]["prompt_tokens"]) for i in (0, 1))
    answers = [each[2][2] for each in rounds]
    return {
        "load_s": load,
        "peak_gb": max(part[1] for each in rounds for part in each),
        "read_tokens_per_s": (many - few) / (longest - load),
        "stream_tokens_per_s": max(a["tokens"]["completion"] / a["timing_ms"]["write"] * 1e3 for a in answers),
        "written": answers[0]["tokens"]["completion"],
    }


def llama(path):
    """In a process of its own, for the peak."""
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

    def write(prompt, tokens):
        request = dict(prompt=prompt, max_tokens=tokens, temperature=0, cache_prompt=False, ignore_eos=True)
        begun = time.perf_counter()
        usage = server.handle_completions(request)["usage"]
        assert usage["completion_tokens"] == tokens, usage
        return time.perf_counter() - begun, usage["prompt_tokens"]

    write(STREAM, 1)
    load = time.perf_counter() - started

    def best(prompt, tokens):
        return min(write(prompt, tokens) for _ in range(ROUNDS))

    short, few = best("x", 1)
    long, many = best(READ, 1)
    brief, _ = best(STREAM, 1)
    written, _ = best(STREAM, WRITTEN)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({
        "load_s": load,
        "peak_gb": peak,
        "read_tokens_per_s": (many - few) / (long - short),
        "stream_tokens_per_s": (WRITTEN - 1) / (written - brief),
    }))


def main():
    if sys.argv[1] == "--llama":
        return llama(sys.argv[2])
    program, path, *precisions = sys.argv[1:]
    out = {precision: ken(program, path, precision) for precision in precisions or ["int8"]}
    _, _, out["llama.cpp"] = run([sys.executable, __file__, "--llama", path])
    print(json.dumps(out, indent=1))


main()
