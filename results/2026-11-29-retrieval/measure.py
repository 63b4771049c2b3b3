"""BM25 of ken beside that of Pyserini on question sets that name a gold passage, measured by `ken eval`.

    python measure.py --data DATA --ken KEN --java JAVA --jar ANSERINI_JAR --work WORK

DATA holds NAME.questions.jsonl.gz and NAME.corpus.jsonl.gz. KEN is the program, with an embedder in KEN_EMBEDDER. The jar is
the one inside Pyserini's package, which does all of its BM25. Needs ir-measures and pytrec-eval-terrier for the check that
ken's numbers are those of trec_eval. Writes retrieval.csv and against.csv beside this file.
"""

import argparse
import csv
import gzip
import json
import pathlib
import subprocess

import ir_measures
from ir_measures import AP, RR, R, nDCG

HERE = pathlib.Path(__file__).parent

# The language by which Pyserini analyzes each set.
SETS = {"nq": "en", "xquad-en": "en", "cmrc": "zh"}
# By the name of the run: how often the title stands before the text, and the weights. The first is Pyserini's default (k1 = 0.9,
# b = 0.4) over title and text, as in its flat indexes of BEIR; the second has ken's weights, and the title twice, as ken has.
VARIANTS = {"pyserini": (1, []), "pyserini-as-ken": (2, ["-bm25.k1", 1.2, "-bm25.b", 0.75])}

MEASURES = {"nDCG@10": nDCG @ 10, "recall@10": R @ 10, "recall@100": R @ 100, "MRR@100": RR, "MAP@100": AP @ 100}


def lines(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def write(path, texts):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(text + "\n" for text in texts), encoding="utf-8")


def make_beir(data, name, folder):
    """Writes the set as a BEIR folder, with the queries as Pyserini reads them; returns the number of documents."""
    questions = list(lines(data / f"{name}.questions.jsonl.gz"))
    documents = list(lines(data / f"{name}.corpus.jsonl.gz"))
    as_json = lambda value: json.dumps(value, ensure_ascii=False)
    write(
        folder / "corpus.jsonl",
        (as_json({"_id": d["id"], "title": d["title"], "text": d["contents"]}) for d in documents),
    )
    write(folder / "queries.jsonl", (as_json({"_id": q["id"], "text": q["question"]}) for q in questions))
    gold = lambda q: q["metadata"]["gold_passage"]
    judged = [f"{q['id']}\t{gold(q)}\t1" for q in questions]
    write(folder / "qrels" / "test.tsv", ["query-id\tcorpus-id\tscore", *judged])
    write(folder / "qrels.trec", (line.replace("\t", " 0 ", 1).replace("\t", " ") for line in judged))
    write(folder / "topics.tsv", (f"{q['id']}\t{' '.join(q['question'].split())}" for q in questions))
    return len(documents)


def pyserini_run(java, jar, folder, language, name, title_times, weights):
    """A run of Pyserini's BM25, over documents in which the title stands so often before the text."""
    texts = lambda d: json.dumps(
        {"id": d["_id"], "contents": "\n".join([d["title"]] * title_times + [d["text"]])}, ensure_ascii=False
    )
    documents = (json.loads(line) for line in open(folder / "corpus.jsonl", encoding="utf-8"))
    write(folder / name / "corpus.jsonl", map(texts, documents))
    call = lambda main, *words: subprocess.run(
        [java, "-cp", jar, f"io.anserini.{main}", *map(str, words)], check=True, capture_output=True
    )
    index, run = folder / f"{name}-index", folder / f"{name}.run"
    call(
        "index.IndexCollection", "-collection", "JsonCollection", "-generator", "DefaultLuceneDocumentGenerator",
        "-threads", 1, "-input", folder / name, "-index", index, "-language", language,
    )
    call(
        "search.SearchCollection", "-index", index, "-topicReader", "TsvString", "-topics", folder / "topics.tsv",
        "-output", run, "-bm25", *weights, "-hits", 100, "-language", language,
    )
    return run


def ken_eval(ken, folder, runs):
    corpus, out = folder / "corpus.ken", folder / "measured"
    subprocess.run([ken, "ingest", folder / "corpus.jsonl", "--corpus", corpus, "-q"], check=True)
    told = subprocess.run(
        [ken, "eval", folder, "--corpus", corpus, "--modes", "lexical,dense,hybrid", "--runs", ",".join(map(str, runs)), "--out", out, "--json"],
        check=True, capture_output=True, text=True,
    )
    return json.loads(told.stdout)


def check(folder, evaluation, runs):
    """The means of ir-measures, which calls trec_eval, for the same runs; their largest difference."""
    qrels = list(ir_measures.read_trec_qrels(str(folder / "qrels.trec")))
    worst = 0.0
    for system in evaluation["systems"]:
        found = list(ir_measures.read_trec_run(str(runs[system["system"]])))
        expected = ir_measures.calc_aggregate(list(MEASURES.values()), qrels, found)
        for measured in system["measures"]:
            worst = max(worst, abs(measured["mean"] - expected[MEASURES[measured["measure"]]]))
    return worst


def main():
    parser = argparse.ArgumentParser()
    for name in ["data", "ken", "java", "jar", "work"]:
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    given = parser.parse_args()
    rows, pairs = [], []
    for name, language in SETS.items():
        folder = given.work / name
        documents = make_beir(given.data, name, folder)
        others = {
            variant: pyserini_run(given.java, given.jar, folder, language, variant, *how) for variant, how in VARIANTS.items()
        }
        evaluation = ken_eval(given.ken, folder, others.values())
        runs = {mode: folder / "measured" / f"{mode}.run" for mode in ["lexical", "dense", "hybrid"]}
        worst = check(folder, evaluation, runs | others)
        for system in evaluation["systems"]:
            for measured in system["measures"]:
                rows.append(
                    [name, documents, evaluation["n"], system["system"], measured["measure"], measured["mean"],
                     *measured["interval"], worst]
                )
                if (against := measured.get("against_first")) is not None:
                    pairs.append(
                        [name, system["system"], measured["measure"], against["difference"], *against["interval"],
                         against["p"], against["better"], against["worse"]]
                    )
    heads = {
        "retrieval.csv": (["set", "documents", "queries", "system", "measure", "mean", "low", "high", "worst_to_trec_eval"], rows),
        "against.csv": (["set", "system", "measure", "above_lexical", "low", "high", "p", "better", "worse"], pairs),
    }
    for name, (head, table) in heads.items():
        with open(HERE / name, "w", encoding="utf-8", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *table])


if __name__ == "__main__":
    main()
