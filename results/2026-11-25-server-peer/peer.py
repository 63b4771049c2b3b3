#!/usr/bin/env python3
"""A server of answers over documents, as it is commonly put together: FastAPI, sentence-transformers, faiss, llama.cpp.

    venv/bin/pip install fastapi uvicorn sentence-transformers faiss-cpu xllamacpp httpx
    venv/bin/python peer.py MODEL.gguf EMBEDDER_FOLDER CORPUS.jsonl SLOTS PORT

Each question is embedded and searched for on a thread of its own; the answer is streamed from llama.cpp's own server,
whose slots keep the prompts that they read last.
"""
import asyncio
import json
import os
import pathlib
import sys

import faiss
import httpx
import numpy
import torch
import uvicorn
import xllamacpp
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from sentence_transformers import SentenceTransformer

model_path, embedder_path, corpus_path, slots, port = sys.argv[1:6]
torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 2)))
texts = []
for line in open(corpus_path):
    record = json.loads(line)
    texts.append(record.get("title", "") + "\n" + record["contents"])
embedder = SentenceTransformer(embedder_path, device="cpu")
kept = pathlib.Path(corpus_path + ".npy")
if not kept.exists():
    numpy.save(kept, embedder.encode(texts, batch_size=64, normalize_embeddings=True, show_progress_bar=True))
vectors = numpy.load(kept)
index = faiss.IndexFlatIP(vectors.shape[1])
index.add(numpy.asarray(vectors, dtype=numpy.float32))

params = xllamacpp.CommonParams()
params.model.path = model_path
params.n_ctx = 1536 * int(slots)
params.n_parallel = int(slots)
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
llama = xllamacpp.Server(params)
client = httpx.AsyncClient(base_url=llama.listening_address, timeout=600)
app = FastAPI()


class Question(BaseModel):
    question: str
    k: int = 3


def find(asked: Question) -> list[str]:
    vector = embedder.encode([asked.question], normalize_embeddings=True, show_progress_bar=False)
    _, rows = index.search(vector, asked.k)
    return [texts[row] for row in rows[0]]


@app.post("/search")
async def search(asked: Question):
    return {"passages": await asyncio.to_thread(find, asked)}


@app.post("/ask")
async def ask(asked: Question):
    passages = await asyncio.to_thread(find, asked)
    evidence = "\n\n".join(f"[{place}] {text}" for place, text in enumerate(passages, 1))
    body = {
        "messages": [
            {"role": "system", "content": "Answer the question from the documents, with a name, a number or a phrase."},
            {"role": "user", "content": f"Documents:\n{evidence}\n\nQuestion: {asked.question}"},
        ],
        "temperature": 0,
        "max_tokens": 24,
        "stream": True,
    }

    async def stream():
        async with client.stream("POST", "/v1/chat/completions", json=body) as reply:
            async for line in reply.aiter_lines():
                if line:
                    yield line + "\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


print("ready", flush=True)
uvicorn.run(app, port=int(port), log_level="warning")
