"""Less LLM, More Documents: models of several sizes over one to twelve shards of a corpus."""

SHARDS = 12
PAPER = [
    ["0.6B to 1.7B", 5, 10, 9],
    ["1.7B to 4B", 2, 7, 4],
    ["4B to 8B", 2, 2, 3],
    ["8B to 14B", 2, 2, 1],
]
# Exact match in percent with one shard and with all.
PAPER_EM = [
    ["0.6B, 1 shard", 16.39, 37.20, 14.81],
    ["0.6B, 12 shards", 25.33, 49.05, 17.82],
    ["14B, 1 shard", 31.77, 66.60, 21.65],
    ["14B, 12 shards", 37.75, 75.28, 23.18],
]
MEASURES = [("em", "exact match"), ("coverage", "coverage"), ("utilization", "utilization")]


def table(run, *words, name="study"):
    """Tables 1 to 4 and Figs. 3, 4 and 8: each model from memory and over the first and the last shards."""
    corpus = run.corpus(SHARDS)
    models = [word for name, path in run.models.items() for word in ("--model", f"{name}={path}")]
    study = ["study", "run", run.questions("test"), "--corpus", corpus, *models, "--scales", f"0-{SHARDS}", "--reverse"]
    found = run.ken(name, *study, *words, "--out", run.out / name, "--json")
    rows = [
        [f"{one['smaller']} to {one['larger']}, {one['retrieval']['order']}", one["n_star"] or "none", one["interval"] and "{} to {}".format(*one["interval"])]
        for one in found["compensation"]
    ]
    run.show(f"Here: {run.ground.name}, n*", ["", "n*", "95% interval"], rows)
    for key, title in MEASURES:
        rows = [
            [f"{one['model']}, {one['retrieval']['order']}", one["known"]["value"] if key == "em" else None, *values(one, key)]
            for one in found["series"]
        ]
        run.show(f"Here: {title} by shards", ["", "memory", *(str(n) for n in range(1, SHARDS + 1))], rows)
    run.show("Less LLM, More Documents, Table 2, n*", ["", "NQ", "TriviaQA", "WebQ"], PAPER)
    run.show("Tables 1, 3 and 4, exact match, percent", ["", "NQ", "TriviaQA", "WebQ"], PAPER_EM)


def values(series, key):
    by_scale = {one["n"]: one[key]["value"] for one in series["scales"]}
    return [by_scale.get(n) for n in range(1, SHARDS + 1)]


def reranked(run):
    """Section 4.3: the passages cut into chunks and reranked, eight kept."""
    table(run, "--rerank", "embedder", "--ks", 8, name="reranked")
