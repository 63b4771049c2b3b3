"""SR-RAG: a model taught to choose between a corpus and a text that it writes itself."""

from ground import read_lines

COLUMNS = ["", "exact match", "retrieves", "against the better arm", "not harmed", "AUROC"]
# Means of four sets: accuracy and share of retrieval.
PAPER_1 = [
    ["untuned, always", 0.543, 1.00, 0.614, 1.00, 0.648, 1.00],
    ["untuned, writing first", 0.496, 0.00, 0.545, 0.00, 0.628, 0.00],
    ["selective retrieval, always", 0.596, 1.00, 0.682, 1.00, 0.659, 1.00],
    ["selective retrieval", 0.597, 0.86, 0.682, 0.92, 0.655, 0.85],
    ["self-routing, always", 0.634, 1.00, 0.684, 1.00, 0.663, 1.00],
    ["self-routing", 0.644, 0.64, 0.696, 0.55, 0.686, 0.67],
]
PAPER_COLUMNS = ["", "Llama-2-7B", "retrieves", "Phi-3.5-Mini", "retrieves", "Qwen2.5-7B", "retrieves"]
PAPER_2 = [["without neighbors", 0.912, 0.534], ["with neighbors", 0.923, 0.570]]


def table_1(run):
    """Table 1, with Table 2 (neighbors) and the shares of Table 5 from the same runs."""
    corpora = run.corpora()
    # What evidence misleads about is what a choice of the source is for.
    corpus = corpora.get("stakes") or next(iter(corpora.values()))
    train, validation, test = (run.questions(part) for part in ("train", "validation", "test"))
    labels, routing, selective, routes = (run.out / name for name in ("labels.jsonl", "routing", "selective", "routes"))
    labeling = ["label", "sources", "--corpus", corpus, *run.model]
    run.ken("labels", *labeling, train, "--out", labels)
    training = ["train", "self-route", labels, *run.model, "--held-out", 0, "--soft", "--epochs", 3, "--json"]
    run.ken("routing", *training, "--out", routing)
    run.ken("selective", *training, "--no-verbalization", "--out", selective)
    again = run.out / "labels-tuned.jsonl"
    run.ken("labels-tuned", *labeling, validation, "--adapter", routing, "--out", again)
    neighbors = ["datastore", "make", again, *run.model, "--adapter", routing, "--held-out", 0, "--neighbors", 30, "--out", routes, "--json"]
    run.ken("neighbors", *neighbors)
    arms = {
        "untuned": ["--policy", "never,always,uncertainty:perplexity"],
        "selective retrieval": ["--adapter", selective, "--policy", "never,always,self-route"],
        "self-routing": ["--adapter", routing, "--policy", "never,always,self-route"],
        "self-routing with neighbors": ["--adapter", routing, "--datastore", routes, "--policy", "never,always,self-route"],
    }
    rows = []
    for name, words in arms.items():
        out = run.out / name.replace(" ", "-")
        found = run.ken(f"eval-{out.name}", "eval", test, "--corpus", corpus, *run.model, *words, "--out", out, "--json")
        rows += [row(name, one) for one in found["policies"] if "neighbors" not in name or one["policy"].startswith("self-route")]
    run.show(f"Here: {corpus.stem}, {found['n']} questions", COLUMNS, rows)
    run.show("SR-RAG, Table 1, means of four sets", PAPER_COLUMNS, PAPER_1)
    run.show("SR-RAG, Table 2, means of four sets", ["", "not harmed", "AUROC"], PAPER_2)
    shares(run, labels)


def row(name, one):
    better = (one.get("vs_better") or {}).get("em_difference")
    return [f"{name}, {one['policy']}", one["em"], one["retrieval_ratio"], better, one.get("not_harming"), one.get("auroc")]


def shares(run, labels):
    preferred = [record["preferred"] for record in read_lines(labels) if record.get("preferred")]
    rules = ("majority", "sum")
    rows = [["prefers its own text", *(sum(one[rule] == "self" for one in preferred) / max(len(preferred), 1) for rule in rules)]]
    run.show(f"Here: share of {len(preferred)} labeled questions", ["", *rules], rows)
    rows = [["NQ", 28, 33, 41], ["least of six sets", 13, 25, 16], ["most", 61, 84, 68]]
    run.show("SR-RAG, Table 5, percent", ["", "Llama", "Phi", "Qwen"], rows)
