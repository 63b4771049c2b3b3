"""The Python package beside the program, llama-cpp-python, transformers, faiss and hnswlib, in turns.
measure.py KEN GGUF FOLDER EMBEDDER ROWS.jsonl CORPUS.jsonl QUERIES.jsonl > measured.csv
FOLDER is a model that both ken and transformers open; ROWS are those of results/2026-11-29-log-likelihoods."""
import csv, itertools, json, os, pathlib, shutil, subprocess, sys, tempfile, time

import faiss, hnswlib, numpy as np, torch
from llama_cpp import Llama
from transformers import AutoModelForCausalLM, AutoTokenizer

import ken

program, gguf, folder, embedder, rows, corpus, queries = sys.argv[1:]
THREADS, K = 2, 10
torch.set_num_threads(THREADS)
faiss.omp_set_num_threads(THREADS)
asked = [(f"{row['passage']}\n\nQuestion: {row['question']}\nAnswer:", [" " + one for one in row["choices"]]) for row in map(json.loads, open(rows))]
out = csv.writer(sys.stdout)
out.writerow(["task", "turn", "way", "seconds", "result"])


def timed(task, turn, way, work):
    begun = time.perf_counter()
    found = work()
    out.writerow([task, turn, way, f"{time.perf_counter() - begun:.4f}", found])
    sys.stdout.flush()


# --- score
exact, integers = ken.Model(gguf, threads=THREADS), ken.Model(gguf, precision="int8", threads=THREADS)
llama = Llama(gguf, n_ctx=2048, n_threads=THREADS, n_threads_batch=THREADS, logits_all=True, verbose=False)
floats = ken.Model(folder, precision="f32", threads=THREADS)
tokenizer, other = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)


def by_ken(model, context, choices):
    return json.dumps([round(score.sum, 4) for score in model.score(context, choices)])


def by_llama(context, choices):
    head = llama.tokenize(context.encode(), add_bos=False, special=False)
    llama.reset()
    llama.eval(head)
    found = []
    for choice in choices:
        tokens = llama.tokenize(choice.encode(), add_bos=False, special=False)
        llama.n_tokens = len(head)
        llama._ctx.kv_cache_seq_rm(-1, len(head), -1)
        llama.eval(tokens)
        logits = llama.scores[len(head) - 1 : len(head) + len(tokens) - 1].astype(np.float64)
        most = logits.max(1, keepdims=True)
        normal = logits - most - np.log(np.exp(logits - most).sum(1, keepdims=True))
        found.append(round(float(normal[np.arange(len(tokens)), tokens].sum()), 4))
    return json.dumps(found)


@torch.no_grad()
def by_transformers(context, choices):
    """The context once, and then the choices as one batch that continues it."""
    head = tokenizer(context, return_tensors="pt").input_ids
    ends = [tokenizer(choice, add_special_tokens=False).input_ids for choice in choices]
    first = other(head, use_cache=True, logits_to_keep=1)
    cache = first.past_key_values
    cache.batch_repeat_interleave(len(choices))
    longest = max(map(len, ends))
    padded = torch.tensor([end + [0] * (longest - len(end)) for end in ends])
    rest = other(padded, past_key_values=cache).logits
    logits = torch.cat([first.logits[:, -1:].repeat(len(choices), 1, 1), rest], 1).log_softmax(-1)
    return json.dumps([round(float(logits[at, range(len(end)), end].sum()), 4) for at, end in enumerate(ends)])


ways = {
    "ken": lambda *one: by_ken(exact, *one), "ken_int8": lambda *one: by_ken(integers, *one), "llama_cpp": by_llama,
    "ken_f32_folder": lambda *one: by_ken(floats, *one), "transformers_folder": by_transformers,
}
for way in ways.values():
    way("The capital of France is", [" Paris", " Rome"])
for turn, one in enumerate(asked):
    for name, way in ways.items():
        timed("score", turn, name, lambda: way(*one))
del exact, integers, llama, floats, other

# --- search_many
place = pathlib.Path(tempfile.mkdtemp())
shelf = ken.Corpus(place / "shelf", embedder=embedder, threads=THREADS)
shelf.ingest(corpus)
model = ken.Embedder(embedder, threads=THREADS)
ids, vectors = shelf.vectors()
flat = faiss.IndexFlatIP(vectors.shape[1])
flat.add(vectors)
graph = hnswlib.Index(space="ip", dim=vectors.shape[1])
graph.init_index(max_elements=len(ids), ef_construction=200, M=16)
graph.set_num_threads(THREADS)
graph.add_items(vectors, np.arange(len(ids)))
graph.set_ef(64)
texts = [json.loads(line)["question"] for line in itertools.islice(open(queries), 500)]


def by_index(search):
    found = search(model.embed(texts, role="query"))
    return json.dumps([[ids[at] for at in row] for row in found[:5].tolist()])


searches = {
    "ken": lambda: json.dumps([[hit.passage_id for hit in hits] for hits in shelf.search_many(texts, K, mode="dense")[:5]]),
    "faiss_flat": lambda: by_index(lambda asked: flat.search(asked, K)[1]),
    "hnswlib": lambda: by_index(lambda asked: graph.knn_query(asked, K)[0]),
    "embedding_alone": lambda: model.embed(texts, role="query").shape[0],
}
for turn in range(6):
    for name, way in searches.items():
        timed(f"search_many of {len(ids)} passages", turn, name, way)

# --- the same work by the program
some = place / "some.jsonl"
some.write_text("".join(itertools.islice(open(corpus), 1500)))
environment = {**os.environ, "KEN_EMBEDDER": embedder, "KEN_THREADS": str(THREADS)}
for turn in range(4):
    for way in ("program", "package"):
        target = place / f"{way}-{turn}"
        if way == "program":
            work = lambda: subprocess.run([program, "ingest", some, "--corpus", target], env=environment, check=True, capture_output=True).returncode
        else:
            work = lambda: ken.Corpus(target, embedder=embedder, threads=THREADS).ingest(some)["passages"]
        timed("ingest of 1500 records", turn, way, work)
shutil.rmtree(place)
