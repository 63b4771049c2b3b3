"""Builds and searches the first vectors of a folder, on disk, by the test binary of ken-index; appends a line of JSON for each number of vectors.

    cargo test --release -p ken-index --lib --no-run      # prints BINARY
    measure.py FOLDER BINARY OUT THREADS VECTORS...

Building and searching are two processes, whose memory is sampled each fifth of a second: all that is resident, and of that what is
not of files.
"""

import json
import os
import subprocess
import sys
import time

import numpy as np

DIMENSIONS = 384
K = 10
EFFORTS = "0.9,0.95,0.99,64,128,256,512,1024"
BLOCK = 200_000


def truth(folder, count):
    """The rows of the nearest, [questions, K], by a scan."""
    vectors = np.memmap(os.path.join(folder, "vectors.f32"), np.float32, "r").reshape(-1, DIMENSIONS)
    questions = np.fromfile(os.path.join(folder, "queries.f32"), np.float32).reshape(-1, DIMENSIONS)
    best = np.full((len(questions), K), -2, np.float32)
    rows = np.zeros((len(questions), K), np.int64)
    for start in range(0, count, BLOCK):
        scores = questions @ vectors[start : min(count, start + BLOCK)].T
        top = np.argpartition(-scores, K, axis=1)[:, :K]
        scores = np.hstack([best, np.take_along_axis(scores, top, 1)])
        top = np.hstack([rows, top + start])
        order = np.argsort(-scores, axis=1)[:, :K]
        best, rows = np.take_along_axis(scores, order, 1), np.take_along_axis(top, order, 1)
    return rows


def resident(process):
    with open(f"/proc/{process.pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return [int(fields[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon") if name in fields]


def run(binary, folder, efforts, count, threads):
    settings = {
        "INDEX": folder, "EFFORTS": efforts, "DIMENSIONS": DIMENSIONS, "DENSE": "disk",
        "COUNT": count, "SHARDS": 1, "K": K,
    }
    environment = {f"KEN_BENCH_{name}": str(value) for name, value in settings.items()}
    environment["RAYON_NUM_THREADS"] = threads
    process = subprocess.Popen(
        [binary, "--ignored", "dense::measurement"], env=os.environ | environment, stdout=subprocess.DEVNULL
    )
    peaks = [0, 0]
    while process.poll() is None:
        try:
            peaks = [max(pair) for pair in zip(peaks, resident(process))] or peaks
        except (FileNotFoundError, ProcessLookupError):
            pass
        time.sleep(0.2)
    assert process.returncode == 0
    with open(os.path.join(folder, "ken.json")) as file:
        measured = json.load(file)
    measured["peak_bytes"], measured["peak_anonymous_bytes"] = peaks
    return measured


def main(folder, binary, out, threads, *counts):
    for count in map(int, counts):
        start = time.time()
        right = truth(folder, count)
        scan_s = time.time() - start
        build = run(binary, folder, "64", count, threads)
        search = run(binary, folder, EFFORTS, count, threads)
        found = np.fromfile(os.path.join(folder, "found.u32"), np.uint32).reshape(-1, *right.shape)
        for point, rows in zip(search["points"], found):
            hits = [len(set(a) & set(b)) for a, b in zip(rows.tolist(), right.tolist())]
            point["recall"] = sum(hits) / right.size
        row = {"build": build, "search": search, "threads": int(threads), "scan_of_all_questions_s": scan_s}
        with open(out, "a") as file:
            file.write(json.dumps(row) + "\n")
        print(count, round(build["build_s"], 1), build["peak_bytes"] / 1e9, search["peak_bytes"] / 1e9,
              [(p["effort"], round(p["recall"], 4), round(p["queries_per_s"]), p["p50_ms"], p["p99_ms"]) for p in search["points"]],
              flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
