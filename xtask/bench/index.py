"""hnswlib and faiss beside ken's graph: same vectors, same queries, one thread each.

    index.py make FOLDER VECTORS DIMENSIONS QUERIES SEED    vectors, queries and what is right
    index.py build FOLDER DIMENSIONS                        both graphs, timed
    index.py query FOLDER DIMENSIONS                        both asked, and ken's findings judged

Answers are one JSON object on standard output.
"""

import json
import os
import sys
import time

import faiss
import hnswlib
import numpy as np

K = int(os.environ.get("KEN_BENCH_K", 10))
PASSES = 3
EFFORTS = [10, 16, 24, 32, 48, 64, 96, 128]
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

    stored, asked = draw(vectors), draw(queries)
    right = np.empty((queries, K), np.uint32)
    for start in range(0, queries, 200):
        scores = asked[start : start + 200] @ stored.T
        right[start : start + 200] = np.argpartition(-scores, K, axis=1)[:, :K]
    stored.tofile(os.path.join(folder, "vectors.f32"))
    asked.tofile(os.path.join(folder, "queries.f32"))
    right.tofile(os.path.join(folder, "right.u32"))
    return {}


def normal(rng, count, dimensions):
    return rng.standard_normal((count, dimensions), dtype=np.float32)


def build(folder, dimensions):
    stored = read(folder, "vectors.f32", dimensions)
    start = time.perf_counter()
    index = hnswlib.Index("ip", dimensions)
    index.init_index(len(stored), M=16, ef_construction=200)
    index.set_num_threads(1)
    index.add_items(stored)
    hnswlib_s = time.perf_counter() - start
    index.save_index(os.path.join(folder, "hnswlib.bin"))
    faiss.omp_set_num_threads(1)
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
        "ken_recall": recall(read(folder, "found.u32", K, np.uint32)),
        "hnswlib": points(ask_hnswlib),
        "faiss": points(ask_faiss),
    }


if __name__ == "__main__":
    verb, folder, *numbers = sys.argv[1:]
    print(json.dumps({"make": make, "build": build, "query": query}[verb](folder, *map(int, numbers))))
