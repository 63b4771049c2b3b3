#!/usr/bin/env python3
"""llama.cpp's server (PyPI's xllamacpp) asked by several clients at once, with the texts of `ken doctor --bench`.

    ken doctor --bench --clients 1,8,32 --model MODEL.gguf --json > ken.json
    python3 -m venv venv && venv/bin/pip install xllamacpp
    venv/bin/python llama.py MODEL.gguf ken.json 1,8,32 > llama.json

The server has as many slots as there are clients, and its other settings as they come, so each slot keeps the prompt
that it read last and reads only what differs.
"""
import json
import math
import sys
import threading
import time
import urllib.request

import xllamacpp


def serve(path, context, slots):
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx = context * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.warmup = False
    return xllamacpp.Server(params)


def first_token(url, prompt, work):
    """Asks, reads the whole stream, and returns the seconds to its first token."""
    body = dict(prompt=prompt, max_tokens=work["max_tokens"], stop=work["stop"], temperature=0, stream=True)
    request = urllib.request.Request(
        url + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
    )
    started, first = time.perf_counter(), None
    with urllib.request.urlopen(request) as reply:
        for line in reply:
            if line.startswith(b"data: {") and first is None:
                first = time.perf_counter() - started
    return first


def ask(path, shared, work, clients):
    server = serve(path, 1024, clients)
    url = server.listening_address
    first_token(url, "Once upon a time", work | dict(max_tokens=1))
    waits, failed, rest, lock = [], [], iter(work["prompts"]), threading.Lock()

    def client():
        try:
            while True:
                with lock:
                    prompt = next(rest, None)
                if prompt is None:
                    return
                waits.append(first_token(url, shared + prompt, work))
        except Exception as error:  # reported below
            failed.append(error)

    started = time.perf_counter()
    threads = [threading.Thread(target=client) for _ in range(clients)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    took = time.perf_counter() - started
    if failed:
        raise failed[0]
    waits.sort()
    rank = lambda share: waits[math.ceil(share * len(waits)) - 1] * 1000
    return dict(
        clients=clients,
        questions_per_s=len(waits) / took,
        first_token_ms_p50=rank(0.5),
        first_token_ms_p99=rank(0.99),
    )


def main():
    workload = json.load(open(sys.argv[2]))["bench"]["workload"]
    counts = [int(count) for count in sys.argv[3].split(",")]
    out = [ask(sys.argv[1], workload["shared"], workload["asked"], count) for count in counts]
    json.dump(out, sys.stdout, indent=1)


main()
