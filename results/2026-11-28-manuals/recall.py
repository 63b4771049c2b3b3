"""How often an answer stands in what is found among the first passages, by search mode and by program.
Usage: recall.py OUT.json EMBEDDER DOCS QUESTIONS NAME=KEN..."""
import json, pathlib, random, re, subprocess, sys, tempfile, time

out, embedder, docs, questions, *programs = sys.argv[1:]
embedder = str(pathlib.Path(embedder).resolve())
records = [json.loads(line) for line in open(questions)]
stated = [r for r in records if r["metadata"]["kind"] == "stated"]
RANKS = (1, 3, 5, 10)


def holds(text, answer):
    text, answer = (" ".join(t.lower().split()) for t in (text, answer))
    return re.search(r"(?<!\w)" + re.escape(answer) + r"(?!\w)", text) is not None


def interval(values, draws=2000):
    chance = random.Random(1)
    means = sorted(sum(chance.choices(values, k=len(values))) / len(values) for _ in range(draws))
    return [round(means[int(0.025 * draws)], 3), round(means[int(0.975 * draws)], 3)]


result = {}
with tempfile.TemporaryDirectory() as work:
    for word in programs:
        name, ken = word.split("=", 1)
        folder = f"{work}/{name}.ken"
        begun = time.time()
        subprocess.run([ken, "ingest", docs, "--corpus", folder, "--embedder", embedder], check=True, capture_output=True)
        result[name] = {"ingest_s": round(time.time() - begun, 1)}
        for mode in ("dense", "lexical", "hybrid"):
            lines = subprocess.run([ken, "search", "-", "--corpus", folder, "--mode", mode, "--k", "10", "--json"],
                                   input="\n".join(r["question"] for r in stated), text=True, check=True, capture_output=True).stdout.splitlines()
            ranks, right = [], []
            for record, line in zip(stated, lines):
                hits = json.loads(line)["hits"]
                of = record["metadata"]["document"]
                good = [n for n, hit in enumerate(hits, 1) if hit["doc_id"] in (of, of.split("/", 1)[-1])
                        and any(holds(hit["text"], a) for a in record["golden_answers"])]
                ranks.append(good[0] if good else 99)
                right.append(next((n for n, hit in enumerate(hits, 1) if hit["doc_id"] == of), 99))
            shown = {f"@{k}": [round(sum(r <= k for r in ranks) / len(ranks), 3), *interval([float(r <= k) for r in ranks])] for k in RANKS}
            document = {f"document@{k}": round(sum(r <= k for r in right) / len(right), 3) for k in RANKS}
            result[name][mode] = {**shown, **document, "ranks": ranks}
            print(name, mode, shown, document, flush=True)
pathlib.Path(out).write_text(json.dumps(result))
