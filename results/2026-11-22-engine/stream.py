import sys, json, urllib.request, xllamacpp as x
p = x.CommonParams(); p.model.path = sys.argv[1]; p.n_ctx = 2048; p.cpuparams.n_threads = 2; p.cpuparams_batch.n_threads = 2; p.hostnames = ["127.0.0.1"]; p.port = 18091; p.verbosity = 0
s = x.Server(p)
def post(b):
    return json.load(urllib.request.urlopen(urllib.request.Request("http://127.0.0.1:18091/completion", json.dumps(b).encode(), {"Content-Type": "application/json"})))
for _ in range(3):
    print("llama.cpp", sys.argv[1].split('/')[-1], round(post({"prompt": "Once upon a time there was", "n_predict": 128, "temperature": 0, "ignore_eos": True})["timings"]["predicted_per_second"], 1), flush=True)
import os; os._exit(0)
