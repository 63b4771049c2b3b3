"""hnswlib and faiss beside ken's dense search: same vectors, same queries, one thread for queries.

    index.py make FOLDER VECTORS DIMENSIONS QUERIES SEED    vectors and queries
    index.py build FOLDER DIMENSIONS                        both graphs, timed
    index.py query FOLDER DIMENSIONS                        both asked, held against right.u32
    index.py plot FOLDER JSON SVG                           what `bench growth` measured

Answers are one JSON object on standard output.
"""

import json
import os
import sys
import time

import faiss
import hnswlib
import numpy as np

K = 10
THREADS = int(os.environ.get("KEN_BENCH_THREADS", 1))
PASSES = 3
EFFORTS = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384]
CENTRES = 2000
SPREAD = 0.7  # how far a vector is from its centre, about


def read(folder, name, width, kind=np.float32):
    return np.fromfile(os.path.join(folder, name), kind).reshape(-1, width)


def make(folder, vectors, dimensions, queries, seed):
    rng = np.random.default_rng(seed)
    centres = normal(rng, CENTRES, dimensions)
    centres /= np.linalg.norm(centres, axis=1, keepdims=True)

    def draw(count):
        drawn = normal(rng, count, dimensions) * np.float32(SPREAD / np.sqrt(dimensions))
        drawn += centres[rng.integers(0, CENTRES, count)]
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    draw(vectors).tofile(os.path.join(folder, "vectors.f32"))
    draw(queries).tofile(os.path.join(folder, "queries.f32"))
    return {}


def normal(rng, count, dimensions):
    return rng.standard_normal((count, dimensions), dtype=np.float32)


def build(folder, dimensions):
    stored = read(folder, "vectors.f32", dimensions)
    start = time.perf_counter()
    index = hnswlib.Index("ip", dimensions)
    index.init_index(len(stored), M=16, ef_construction=200)
    index.set_num_threads(THREADS)
    index.add_items(stored)
    hnswlib_s = time.perf_counter() - start
    index.save_index(os.path.join(folder, "hnswlib.bin"))
    faiss.omp_set_num_threads(THREADS)
    start = time.perf_counter()
    index = faiss.IndexHNSWFlat(dimensions, 16, faiss.METRIC_INNER_PRODUCT)
    index.hnsw.efConstruction = 200
    index.add(stored)
    faiss_s = time.perf_counter() - start
    faiss.write_index(index, os.path.join(folder, "faiss.bin"))
    return {"hnswlib": hnswlib_s, "faiss": faiss_s}


def query(folder, dimensions):
    asked = read(folder, "queries.f32", dimensions)
    right = read(folder, "right.u32", K, np.uint32)

    def recall(found):
        pairs = zip(found, right)
        return float(np.mean([len(set(one) & set(other)) / K for one, other in pairs]))

    def points(ask):
        listed = []
        for effort in EFFORTS:
            seconds = []
            for _ in range(PASSES):
                start = time.perf_counter()
                found = ask(effort)
                seconds.append(time.perf_counter() - start)
            rate = len(asked) / min(seconds)
            listed.append({"ef": effort, "recall": recall(found), "queries_per_s": rate})
        return listed

    one = hnswlib.Index("ip", dimensions)
    one.load_index(os.path.join(folder, "hnswlib.bin"))
    one.set_num_threads(1)
    faiss.omp_set_num_threads(1)
    other = faiss.read_index(os.path.join(folder, "faiss.bin"))

    def ask_hnswlib(effort):
        one.set_ef(effort)
        return one.knn_query(asked, K)[0]

    def ask_faiss(effort):
        other.hnsw.efSearch = effort
        return other.search(asked, K)[1]

    return {
        "hnswlib": points(ask_hnswlib),
        "faiss": points(ask_faiss),
    }


def plot(folder, measured, drawing):
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    with open(measured, encoding="utf-8") as file:
        points = json.load(file)["ken"]
    figure, (time_axes, memory_axes) = plt.subplots(1, 2, figsize=(10, 4))
    colors = {"exact": "tab:gray", "graph": "tab:blue", "disk": "tab:orange"}
    styles = {1: "-", 4: "--", 12: ":"}
    for dense, color in colors.items():
        for shards, style in styles.items():
            chosen = [p for p in points if (p["dense"], p["shards"]) == (dense, shards)]
            if not chosen:
                continue
            counts = [p["vectors"] for p in chosen]
            label = f"{dense}, {shards} shard{'s' if shards > 1 else ''}"
            for axes, numbers in [
                (time_axes, [p["p50_ms"] for p in chosen]),
                (memory_axes, [p["resident_bytes"] / 1e6 for p in chosen]),
            ]:
                axes.loglog(counts, numbers, style, marker="o", color=color, label=label)
    time_axes.set(xlabel="vectors", ylabel="milliseconds a query (median)")
    memory_axes.set(xlabel="vectors", ylabel="resident MB")
    memory_axes.legend(fontsize="small")
    figure.tight_layout()
    figure.savefig(drawing)
    return {}


if __name__ == "__main__":
    verb, folder, *rest = sys.argv[1:]
    verbs = {"make": make, "build": build, "query": query}
    if verb == "plot":
        answer = plot(folder, *rest)
    else:
        answer = verbs[verb](folder, *map(int, rest))
    print(json.dumps(answer))
