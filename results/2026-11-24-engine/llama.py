#!/usr/bin/env python3
"""llama.cpp (PyPI's xllamacpp) on a GGUF file and on the texts of `ken doctor --bench`.

    ken doctor --bench --model MODEL.gguf --threads 2 --json > ken.json
    python3 -m venv venv && venv/bin/pip install xllamacpp
    venv/bin/python llama.py MODEL.gguf ken.json > llama.json

Samples are those of the first question alone: 30 slots of a server write them at once. All others of the work are
the same. The best of three rounds counts.
"""
import json
import pathlib
import sys
import threading
import time

import xllamacpp

STREAM = "Once upon a time there was"


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
    request = dict(prompt=prompt, max_tokens=tokens, seed=seed, temperature=temperature, top_k=0, top_p=1.0, min_p=0.0)
    reply = server.handle_completions(request | dict(cache_prompt=False, ignore_eos=True))
    assert reply["usage"]["completion_tokens"] == tokens, reply
    return reply["usage"]["prompt_tokens"]


def best(tokens, work):
    rates = []
    for _ in range(3):
        started = time.perf_counter()
        work()
        rates.append(tokens / (time.perf_counter() - started))
    return max(rates)


def main():
    path, workload = sys.argv[1], json.load(open(sys.argv[2]))["bench"]["workload"]
    started = time.perf_counter()
    server = serve(path, 1536, 1)
    write(server, STREAM, 1, temperature=0)
    out = {"load_s": time.perf_counter() - started, "peak_gb_after_load": peak()}
    tokens = write(server, workload["long"], 1)
    out["read_tokens_per_s"] = best(tokens, lambda: write(server, workload["long"], 1))
    length = workload["stream_tokens"]
    out["stream_tokens_per_s"] = best(length, lambda: write(server, STREAM, length, temperature=0))
    del server
    samples, length = workload["samples"], workload["sample_tokens"]
    server = serve(path, samples * 256, samples)
    prompt = workload["shared"] + workload["sampled"][0]

    def sample():
        threads = [threading.Thread(target=write, args=(server, prompt, length, seed)) for seed in range(samples)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]

    out["sample_tokens_per_s"] = best(samples * length, sample)
    print(json.dumps(out | {"peak_gb": peak()}, indent=1))


main()
