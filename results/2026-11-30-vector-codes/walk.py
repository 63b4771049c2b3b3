"""Whether a walk misses by its codes or by its graph: walk.py FOLDER, on vectors.f32 and queries.f32 of ../2026-11-30-ten-million/vectors.py.

One HNSW graph of faiss, with the M and the candidates of ken's, is walked by the vectors themselves and by PQ codes. A list is rescored by
the vectors, and beside it stands what a scan over the codes finds in a list of the same length.
"""

import json
import sys
import time

import faiss
import numpy as np

from codes import CODES, KEN_SAMPLE, read

K = 10
LISTS = (16, 32, 64, 128, 256, 512, 1024)
M = 16
EF_CONSTRUCTION = 128


def recall(rows, vectors, queries, right):
    found = 0
    for row, query, nearest in zip(rows, queries, right):
        row = row[row >= 0]
        found += len(set(row[np.argsort(-(vectors[row] @ query))[:K]]) & set(nearest))
    return found / right.size


def main(folder):
    vectors, queries = read(folder, "vectors.f32", np.float32), read(folder, "queries.f32", np.float32)
    right = np.argpartition(-(queries @ vectors.T), K, axis=1)[:, :K]
    graph = faiss.IndexHNSWFlat(vectors.shape[1], M, faiss.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = EF_CONSTRUCTION
    start = time.process_time()
    graph.add(vectors)
    print(json.dumps({"vectors": len(vectors), "built_in_cpu_s": time.process_time() - start}), flush=True)
    code = CODES["PQ as in ken"][2](np.ascontiguousarray(vectors[:: -(-len(vectors) // KEN_SAMPLE)]))
    coded = code(vectors)
    scores = queries @ coded.T
    for by, stored in ("vectors", graph.storage), ("codes", faiss.IndexFlatIP(vectors.shape[1])):
        if by == "codes":
            stored.add(coded)
            graph.own_fields = False
            graph.storage = stored
        for length in LISTS:
            graph.hnsw.efSearch = length
            faiss.cvar.hnsw_stats.reset()
            rows = graph.search(queries, length)[1]
            row = {"walk_by": by, "list": length, "recall": recall(rows, vectors, queries, right)}
            row["compared"] = faiss.cvar.hnsw_stats.ndis / len(queries)
            if by == "codes":
                scanned = np.argpartition(-scores, length, axis=1)[:, :length]
                row["recall_of_scan"] = recall(scanned, vectors, queries, right)
            print(json.dumps(row), flush=True)


main(sys.argv[1])
