"""Takes passages into a faiss index by sentence-transformers, as scripts do: read JSON Lines, encode,
build HNSW or a flat index, write index and passages.

usage: ingest.py MODEL PASSAGES.jsonl OUT THREADS flat|hnsw
"""

import json
import pickle
import sys
import time

import faiss
import torch
from sentence_transformers import SentenceTransformer


def main():
    model, source, out, threads, kind = sys.argv[1:]
    torch.set_num_threads(int(threads))
    faiss.omp_set_num_threads(int(threads))
    embedder = SentenceTransformer(model, device="cpu")
    started = time.perf_counter()
    with open(source, encoding="utf-8") as file:
        passages = [json.loads(line) for line in file]
    texts = [f"{passage.get('title', '')}\n{passage['contents']}" for passage in passages]
    vectors = embedder.encode(texts, batch_size=32, normalize_embeddings=True)
    if kind == "flat":
        index = faiss.IndexFlatIP(vectors.shape[1])
    else:
        index = faiss.IndexHNSWFlat(vectors.shape[1], 16, faiss.METRIC_INNER_PRODUCT)
        index.hnsw.efConstruction = 200
    index.add(vectors)
    faiss.write_index(index, out + ".faiss")
    with open(out + ".pickle", "wb") as file:
        pickle.dump(passages, file)
    seconds = time.perf_counter() - started
    print(json.dumps({"passages": len(texts), "seconds": seconds, "passages_per_s": len(texts) / seconds}))


main()
