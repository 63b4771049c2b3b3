"""How often the passage that answers is among the first, by search mode and by two programs, on the questions with an odd number.
Usage: measure.py OUT.json EMBEDDER NAME=KEN... -- SET=CORPUS.jsonl,QUESTIONS.jsonl...
A question has `question` and the id of its passage in `metadata.gold_passage`."""
import json, math, pathlib, random, subprocess, sys, tempfile

out, embedder, *rest = sys.argv[1:]
split = rest.index("--")
programs = dict(word.split("=", 1) for word in rest[:split])
sets = {name: paths.split(",") for name, paths in (word.split("=", 1) for word in rest[split + 1:])}
embedder = str(pathlib.Path(embedder).resolve())
RANKS = (1, 3, 10)


def interval(values, draws=2000):
    chance = random.Random(1)
    means = sorted(sum(chance.choices(values, k=len(values))) / len(values) for _ in range(draws))
    return [round(means[int(0.025 * draws)], 4), round(means[int(0.975 * draws)], 4)]


result = {}
with tempfile.TemporaryDirectory() as work:
    for name, (corpus, questions) in sets.items():
        records = [json.loads(line) for line in open(questions)]
        asked = [(" ".join(r["question"].split()), r["metadata"]["gold_passage"]) for r in records[1::2]]
        result[name] = {"questions": len(asked)}
        for program, ken in programs.items():
            folder = f"{work}/{name}-{program}.ken"
            subprocess.run([ken, "ingest", corpus, "--corpus", folder, "--embedder", embedder], check=True, capture_output=True)
            for mode in ("dense", "lexical", "hybrid"):
                found = subprocess.run([ken, "search", "-", "--corpus", folder, "--mode", mode, "--k", "30", "--json"],
                                       input="\n".join(q for q, _ in asked), text=True, check=True, capture_output=True).stdout.splitlines()
                ranks = []
                for (_, gold), line in zip(asked, found):
                    documents = list(dict.fromkeys(hit["doc_id"] for hit in json.loads(line)["hits"]))
                    ranks.append(documents.index(gold) + 1 if gold in documents else math.inf)
                hits = {rank: [float(r <= rank) for r in ranks] for rank in RANKS}
                result[name][f"{program} {mode}"] = {f"@{rank}": [round(sum(h) / len(h), 4), *interval(h)] for rank, h in hits.items()} | {
                    "ranks": [r if r < math.inf else None for r in ranks]}
                print(name, program, mode, {rank: round(sum(h) / len(h), 3) for rank, h in hits.items()}, flush=True)
pathlib.Path(out).write_text(json.dumps(result))
