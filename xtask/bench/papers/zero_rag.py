"""Zero-RAG: what pruning what a model has mastered costs, with and without a router and noise-tolerant tuning."""

RATIOS = "0,0.1,0.3,0.5,0.7"
# Of Llama3.3-70B, exact match in percent.
SETS = ["PopQA", "HotpotQA", "TriviaQA", "EntityQuestions"]
PAPER_1 = [
    ["model alone", 16.25, 46.20, 81.43, 52.01],
    ["whole corpus", 16.35, 43.35, 79.32, 50.71],
    ["tuned, alone", 32.77, 47.50, 82.19, 55.38],
    ["tuned, whole corpus", 38.94, 49.12, 81.50, 65.16],
    ["tuned and routed, 0 pruned", 35.78, 51.28, 82.69, 63.70],
    ["tuned and routed, 0.1 pruned", 35.43, 49.41, 82.57, 61.33],
    ["tuned and routed, 0.3 pruned", 34.80, 48.52, 82.42, 60.43],
    ["tuned and routed, 0.5 pruned", 34.24, 47.09, 82.17, 57.35],
    ["tuned and routed, 0.7 pruned", 32.91, 46.20, 82.07, 56.29],
]
PAPER_2 = [
    ["whole corpus", 74.85, 77.57, 79.32],
    ["tuned, whole corpus", 80.54, 81.41, 81.50],
    ["tuned and routed, 0 pruned", 82.46, 82.58, 82.69],
    ["tuned and routed, 0.3 pruned", 82.31, 82.41, 82.42],
]
PAPER_3 = [
    ["all parts", 82.42, 48.52],
    ["without pruning", 82.69, 51.28],
    ["without router", 81.50, 43.35],
    ["without tuning", 80.55, 42.82],
]


class Parts:
    """The tuned model, and a router and a pruner for it and for the untuned one. Each learns from questions that no other learns from."""

    def __init__(self, run):
        self.run, self.corpus, self.test = run, run.corpus(), run.questions("test")
        self.adapter = run.out / "tolerant"
        train, known = run.questions("train"), run.out / "known-train.jsonl"
        run.ken("probe-train", "probe", train, *run.model, "--samples", 10, "--out", known)
        words = ["train", "noise-tolerant", train, "--records", known, "--corpus", self.corpus, *run.model, "--out", self.adapter, "--json"]
        run.ken("noise-tolerant", *words)

    def model(self, is_tuned):
        return [*self.run.model, *(["--adapter", self.adapter] if is_tuned else [])]

    def heads(self, is_tuned):
        """The flags of a pruner and of the policy with a router, both of what this model knows."""
        run, name, model = self.run, "tuned" if is_tuned else "untuned", self.model(is_tuned)
        validation = run.questions("validation")
        known, mastery, pruner, router = (run.out / f"{file}-{name}.{kind}" for file, kind in HEAD_FILES)
        run.ken(f"probe-{name}", "probe", validation, *model, "--samples", 10, "--out", known)
        labels = ["label", "mastery", "--corpus", self.corpus, "--questions", validation, "--records", known, *model, "--out", mastery]
        run.ken(f"mastery-{name}", *labels)
        run.ken(f"pruner-{name}", "train", "pruner", mastery, "--corpus", self.corpus, *model, "--out", pruner, "--json")
        run.ken(f"router-{name}", "train", "router", known, "--corpus", self.corpus, *model, "--out", router, "--json")
        return ["--pruner", pruner], ["--policy", "router@0.5", "--router", router]

    def report(self, name, is_tuned, *words):
        report = ["prune", "report", "--corpus", self.corpus, "--questions", self.test, *self.model(is_tuned)]
        return self.run.ken(f"report-{name}", *report, *words, "--out", self.run.out / name, "--json")


HEAD_FILES = [("known", "jsonl"), ("mastery", "jsonl"), ("pruner", "json"), ("router", "json")]
COLUMNS = ["", "exact match", "95% interval", "against the same, whole", "coverage", "retrieves"]


def row(name, report):
    low, high = report["em_interval"]
    # Alone and with the whole corpus, another policy answers than in the rows that follow.
    against = {} if report["method"] in ("no corpus", "unpruned") else report["vs_unpruned"]
    return [name, report["em"], f"{low:.3f} to {high:.3f}", against.get("em_difference"), report["coverage"], report["retrieval_ratio"]]


def table_1(run):
    """Table 1: alone, with the whole corpus, and tuned, routed and pruned; at random beside it. With another model it is Table 5 or 8."""
    parts = Parts(run)
    untuned = parts.report("untuned", False, "--method", "random", "--ratios", "0,0.3,0.7")
    pruner, router = parts.heads(is_tuned=True)
    tuned = parts.report("tuned", True, "--method", "pruner,random", "--ratios", RATIOS, *pruner, *router)
    rows = [row("model alone", untuned["no_corpus"]), row("whole corpus", untuned["always_unpruned"])]
    rows += [row(f"{one['ratio']} pruned at random", one) for one in untuned["rows"] if one["ratio"] > 0]
    rows += [row("tuned, alone", tuned["no_corpus"]), row("tuned, whole corpus", tuned["always_unpruned"])]
    for one in tuned["rows"]:
        how = "" if one["method"] == "pruner" else f", {one['method']}"
        rows.append(row(f"tuned and routed, {one['ratio']:g} pruned{how}", one))
    run.show(f"Here: {run.ground.name}, {untuned['n']} questions", COLUMNS, rows)
    run.show("Zero-RAG, Table 1, Llama3.3-70B, percent", ["", *SETS], PAPER_1)


def table_2(run):
    """Table 2: 5, 10 and 20 passages, over the whole corpus and with 0.3 of it pruned."""
    parts = Parts(run)
    pruner, router = parts.heads(is_tuned=True)
    study = ["study", "run", parts.test, "--corpus", parts.corpus, "--ks", "5,10,20", "--evidence-tokens", 4096, "--json"]
    model = run.model[1]
    untuned = run.ken("study-untuned", *study, "--model", f"untuned={model}", "--scales", "0,1", "--out", run.out / "untuned")
    words = ["--model", f"tuned={model}+{parts.adapter}", "--scales", "0,1", "--prune", "0,0.3", *pruner, *router]
    tuned = run.ken("study-tuned", *study, *words, "--out", run.out / "tuned")
    rows = [["model alone", *[untuned["series"][0]["known"]["value"]] * 3], by_k("whole corpus", always(untuned, 0.0))]
    rows += [["tuned, alone", *[tuned["series"][0]["known"]["value"]] * 3], by_k("tuned, whole corpus", always(tuned, 0.0))]
    for ratio in (0.0, 0.3):
        routed = [one for one in tuned["policies"] if one["policy"] != "always" and one["retrieval"]["pruned"] == ratio]
        rows.append(by_k(f"tuned and routed, {ratio:g} pruned", routed, lambda one: one["em"]["value"]))
    run.show(f"Here: {run.ground.name}, exact match with so many passages", ["", "5", "10", "20"], rows)
    run.show("Zero-RAG, Table 2, TriviaQA, Llama3.3-70B, percent", ["", "5", "10", "20"], PAPER_2)


def always(study, pruned):
    return [one for one in study["series"] if one["retrieval"]["pruned"] == pruned]


def by_k(name, rows, em=lambda one: one["scales"][-1]["em"]["value"]):
    found = {one["retrieval"]["k"]: em(one) for one in rows}
    return [name, *(found.get(k) for k in (5, 10, 20))]


def table_3(run):
    """Table 3: each part left out, 0.3 pruned."""
    parts = Parts(run)
    tuned, untuned = parts.heads(is_tuned=True), parts.heads(is_tuned=False)
    ratios = ["--method", "pruner", "--ratios", "0,0.3"]
    full = parts.report("all-parts", True, *ratios, *tuned[0], *tuned[1])
    unrouted = parts.report("without-router", True, *ratios, *tuned[0])
    plain = parts.report("without-tuning", False, *ratios, *untuned[0], *untuned[1])
    pruned = {name: report["rows"][-1] for name, report in [("all", full), ("unrouted", unrouted), ("plain", plain)]}
    rows = [
        row("model alone", plain["no_corpus"]), row("whole corpus", plain["always_unpruned"]),
        row("all parts", pruned["all"]), row("without pruning", full["rows"][0]),
        row("without router", pruned["unrouted"]), row("without tuning", pruned["plain"]),
    ]
    run.show(f"Here: {run.ground.name}, {full['n']} questions, 0.3 pruned", COLUMNS, rows)
    run.show("Zero-RAG, Table 3, Llama3.3-70B, percent", ["", "TriviaQA", "HotpotQA"], PAPER_3)
