"""KBM: a model taught to say what it has mastered, or is certain of, retrieves for the rest."""
from ground import read_lines

# The paper retrieves where the model says no, which is a threshold of one half.
POLICIES = "never,always,prompt@0.5,kbm@0.5,kbm:certainty@0.5"
# Those with a threshold that is chosen on the other half of the questions.
CHOSEN = "kbm,kbm:certainty,uncertainty:sequence-probability"
COLUMNS = ["", "exact match", "F1", "retrieves", "at random, as often", "against the better arm", "95% interval"]
# Accuracy in percent of never and always retrieving, then accuracy and ratio by mastery, by certainty and by prompt.
PAPER_1 = [
    ["NaturalQA", 35.58, 61.63, 60.09, 86.15, 61.27, 97.53, 59.92, 85.98],
    ["TriviaQA", 50.79, 84.60, 81.39, 70.25, 83.32, 87.70, 79.08, 73.55],
    ["SQuAD", 34.02, 89.83, 89.13, 87.18, 89.38, 97.27, 78.55, 75.55],
    ["FreshQA", 33.68, 60.84, 58.40, 86.80, 59.72, 91.80, 58.52, 86.80],
    ["WebQA", 70.06, 92.54, 90.84, 56.83, 92.12, 89.71, 89.75, 77.47],
]
PAPER_COLUMNS = ["", "never", "always", "mastery", "ratio", "certainty", "ratio", "prompt", "ratio"]
PAPER_3 = [
    ["mastery", 96.5, 48.9, 91.2, 50.9],
    ["certainty", 99.1, 48.7, 94.3, 51.4],
    ["prompt", 91.3, 48.3, 93.7, 51.2],
]


def taught(run, keep=None):
    """The flags of a model taught, on questions that are not asked for in tests, what the model knows."""
    teach = run.questions("train", "validation", keep=keep)
    known, adapter = run.out / f"known-{teach.stem}.jsonl", run.out / f"kbm-{teach.stem}"
    run.ken(f"probe-{teach.stem}", "probe", teach, *run.model, "--samples", 10, "--out", known)
    training = ["train", "kbm", known, *run.model, "--held-out", 0, "--soft", "--epochs", 3, "--out", adapter, "--json"]
    run.ken(f"kbm-{teach.stem}", *training)
    return ["--kbm", adapter]


def compared(run, name, test, corpus, kbm, policies, *words):
    out = run.out / f"eval-{name}"
    return run.ken(f"eval-{name}", "eval", test, "--corpus", corpus, *run.model, *kbm, "--policy", policies, *words, "--out", out, "--json")


def row(one):
    better = one.get("vs_better") or {}
    low, high = better.get("interval") or (None, None)
    interval = "" if low is None else f"{low:.3f} to {high:.3f}"
    chance = (one.get("random") or {}).get("em_difference")
    return [one["policy"], one["em"], one["f1"], one["retrieval_ratio"], chance, better.get("em_difference"), interval]


def table_1(run):
    """Table 1: each policy over each corpus of the ground, as over the paper's sets."""
    kbm, test = taught(run), run.questions("test")
    for name, corpus in run.corpora().items():
        found = compared(run, name, test, corpus, kbm, f"{POLICIES},{CHOSEN}")
        run.show(f"Here: {run.ground.name}, {name}, {found['n']} questions", COLUMNS, map(row, found["policies"]))
    run.show("KBM, Table 1, sets of short answers, percent", PAPER_COLUMNS, PAPER_1)


def table_3(run):
    """Table 3: questions of several hops beside single ones, taught on single ones alone."""
    hops = list(dict.fromkeys(question["metadata"]["hops"] for question in read_lines(run.ground / "test.jsonl")))
    hops.sort(key=lambda value: value not in (1, "one"))
    is_of = lambda value: (f"hops-{value}", lambda question: question["metadata"]["hops"] == value)
    kbm, corpus = taught(run, keep=is_of(hops[0])), run.corpus()
    for value in hops:
        found = compared(run, f"hops-{value}", run.questions("test", keep=is_of(value)), corpus, kbm, POLICIES)
        run.show(f"Here: {run.ground.name}, hops: {value}, {found['n']} questions", COLUMNS, map(row, found["policies"]))
    columns = ["", "FreshQA, two hops or more: ratio", "accuracy", "HotpotQA: ratio", "accuracy"]
    run.show("KBM, Table 3, percent", columns, PAPER_3)


def figure_1(run):
    """Fig. 1: confidence from memory, with ten passages, and with the answers masked in them, of each model."""
    test, corpus, rows = run.questions("test"), run.corpus(), []
    for name, model in run.models.items():
        known = run.out / f"known-{name}.jsonl"
        run.ken(f"probe-{name}", "probe", test, "--corpus", corpus, "--k", 10, "--samples", 10, "--model", model, "--out", known)
        records = [record["confidence"] for record in read_lines(known) if record.get("confidence")]
        rows.append([name, *(mean(record[condition] for record in records) for condition in ("self", "corpus", "masked"))])
    run.show(f"Here: {run.ground.name}, mean confidence", ["", "from memory", "with evidence", "masked"], rows)
    rows = [["7B and 72B apart on WebQA, points", 28.87, 3.05]]
    run.show("KBM, Fig. 1", ["", "from memory", "with evidence"], rows)


def mean(values):
    values = [value for value in values if value is not None]
    return sum(values) / len(values) if values else None


def figure_6(run):
    """Fig. 6: by how well known a subject is; here cities, in quarters by population."""
    is_city = ("cities", lambda question: question["metadata"]["relation"] == "country")
    kbm, test = taught(run), run.questions("test", keep=is_city)
    found = compared(run, "cities", test, run.corpus(), kbm, f"{POLICIES},{CHOSEN}", "--by", "population")
    groups = found["by"]["groups"]
    rows = [
        [policy["policy"], *(f"{group['policies'][index]['em']:.3f} ({group['policies'][index]['retrieval_ratio']:.3f})" for group in groups)]
        for index, policy in enumerate(found["policies"])
    ]
    columns = ["", *(f"{group['value']} ({group['n']})" for group in groups)]
    run.show(f"Here: cities of {run.ground.name} by population, exact match (retrieves)", columns, rows)
    print("KBM, Fig. 6, is a curve: memory is worse for rare knowledge, and judged retrieval lifts it, by certainty most.")
