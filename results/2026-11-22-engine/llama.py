"""The same texts by a llama.cpp server (PyPI: xllamacpp).

usage: llama.py FINDINGS.json MODEL.gguf PORT THREADS QUESTIONS
"""
import json, sys, time, urllib.request
from concurrent.futures import ThreadPoolExecutor
import xllamacpp as x
work = json.load(open(sys.argv[1]))["bench"]["workload"]
port, threads = int(sys.argv[3]), int(sys.argv[4])
p = x.CommonParams()
p.model.path = sys.argv[2]
p.n_ctx = 32 * 2048; p.n_parallel = 32; p.kv_unified = True
p.cpuparams.n_threads = threads; p.cpuparams_batch.n_threads = threads
p.n_batch = 2048; p.n_ubatch = 512; p.hostnames = ["127.0.0.1"]; p.port = port; p.verbosity = 0
server = x.Server(p)
def post(body):
    req = urllib.request.Request(f"http://127.0.0.1:{port}/completion", json.dumps(body).encode(), {"Content-Type": "application/json"})
    return json.load(urllib.request.urlopen(req))
def timed(f):
    t = time.perf_counter(); r = f(); return r, time.perf_counter() - t
long = post({"prompt": work["long"], "n_predict": 1, "cache_prompt": False})["timings"]
one = post({"prompt": "Once upon a time there was", "n_predict": work["stream_tokens"], "temperature": 0, "ignore_eos": True})["timings"]
def sample():
    total = 0
    with ThreadPoolExecutor(32) as pool:
        jobs = [pool.submit(post, {"prompt": work["shared"] + q, "n_predict": work["sample_tokens"], "temperature": 1.0, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "samplers": ["temperature"], "seed": s, "cache_prompt": True}) for q in work["sampled"][:int(sys.argv[5])] for s in range(work["samples"])]
        for j in jobs: total += j.result()["tokens_predicted"]
    return total
n, s = timed(sample)
print(json.dumps({"model": sys.argv[2].split("/")[-1], "sample_tokens_per_s": n / s, "read_tokens_per_s": long["prompt_per_second"], "stream_tokens_per_s": one["predicted_per_second"]}), flush=True)
import os; os._exit(0)
