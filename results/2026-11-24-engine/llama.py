#!/usr/bin/env python3
"""llama.cpp (PyPI's xllamacpp) on a GGUF file: load to first token, memory, one stream, reading, samples.

    python3 -m venv venv && venv/bin/pip install xllamacpp
    venv/bin/python llama.py MODEL.gguf > llama.json
"""
import json
import pathlib
import sys
import threading
import time

import xllamacpp

PROMPT = "Once upon a time"
LONG = "The river rises in the mountains and flows through several towns before it reaches the sea. " * 56


def peak():
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    (line,) = [line for line in lines if line.startswith("VmHWM")]
    return int(line.split()[1]) / 1e6


def serve(path, context, slots):
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = context
    params.n_parallel = slots
    params.n_batch = params.n_ubatch = 512
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.warmup = False
    return xllamacpp.Server(params)


def write(server, prompt, tokens, seed=-1, temperature=1.0):
    request = dict(prompt=prompt, max_tokens=tokens, seed=seed, temperature=temperature, cache_prompt=False, ignore_eos=True)
    reply = server.handle_completions(request)
    assert reply["usage"]["completion_tokens"] == tokens, reply
    return reply["usage"]["prompt_tokens"]


def timed(tokens, work):
    started = time.perf_counter()
    work()
    return tokens / (time.perf_counter() - started)


def main():
    started = time.perf_counter()
    server = serve(sys.argv[1], 1280, 1)
    write(server, PROMPT, 1)
    out = {"load_to_first_token_s": time.perf_counter() - started, "peak_after_load_gb": peak()}
    tokens = write(server, LONG, 1)
    one = [timed(48, lambda: write(server, PROMPT, 48, temperature=0)) for _ in range(3)]
    read = [timed(tokens, lambda: write(server, LONG, 1)) for _ in range(3)]
    out |= {"one_stream": one, "read_tokens": tokens, "read": read, "peak_gb": peak()}
    del server
    server = serve(sys.argv[1], 30 * 64, 30)

    def samples():
        threads = [threading.Thread(target=write, args=(server, PROMPT, 16, seed)) for seed in range(30)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    out["samples_30"] = [timed(30 * 16, samples) for _ in range(3)]
    print(json.dumps(out, indent=1))


main()
