"""How often the passage that answers is among the first, by embedder and search mode, and passages ingested a second.
Usage: measure.py OUT.json KEN NAME=EMBEDDER... -- SET=CORPUS.jsonl,QUESTIONS.jsonl...
A question has `question` and the id of its passage in `metadata.gold_passage`; those with an odd number are asked. The
embedders take turns, set by set."""
import json, math, pathlib, random, subprocess, sys, tempfile, time

out, ken, *rest = sys.argv[1:]
split = rest.index("--")
embedders = dict(word.split("=", 1) for word in rest[:split])
sets = {name: paths.split(",") for name, paths in (word.split("=", 1) for word in rest[split + 1 :])}
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
        for embedder, place in embedders.items():
            folder = f"{work}/{name}-{embedder}.ken"
            begun = time.time()
            ingest = [ken, "ingest", corpus, "--corpus", folder, "--embedder", place, "--json"]
            report = json.loads(subprocess.run(ingest, check=True, capture_output=True, text=True).stdout)
            seconds = time.time() - begun
            rate = report["passages"] / seconds
            result[name][embedder] = {"passages": report["passages"], "seconds": round(seconds, 2)}
            for mode in ("dense", "hybrid"):
                search = [ken, "search", "-", "--corpus", folder, "--mode", mode, "--k", "30", "--json"]
                text = "\n".join(question for question, _ in asked)
                lines = subprocess.run(search, input=text, text=True, check=True, capture_output=True).stdout.splitlines()
                ranks = []
                for (_, gold), line in zip(asked, lines):
                    documents = list(dict.fromkeys(hit["doc_id"] for hit in json.loads(line)["hits"]))
                    ranks.append(documents.index(gold) + 1 if gold in documents else math.inf)
                hits = {rank: [float(found <= rank) for found in ranks] for rank in RANKS}
                row = {f"@{rank}": [round(sum(h) / len(h), 4), *interval(h)] for rank, h in hits.items()}
                result[name][embedder][mode] = row | {"ranks": [r if r < math.inf else None for r in ranks]}
                shares = {rank: round(sum(h) / len(h), 3) for rank, h in hits.items()}
                print(name, embedder, mode, shares, f"{rate:.0f} passages/s", flush=True)
pathlib.Path(out).write_text(json.dumps(result))
