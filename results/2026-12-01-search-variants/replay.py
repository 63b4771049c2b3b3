#!/usr/bin/env python3
"""Replays hybrid search over a corpus in Python, to try variants that ken does not have.

    replay.py KEN CORPUS QUESTIONS.jsonl

Reads the passages and vectors of the corpus, embeds questions by `ken serve`, and computes BM25, cosines and their fusion as
`crates/index/src/fuse.rs` does; words are split at what is neither letter nor digit and stemmed, so the numbers are near ken's own and
not equal. A passage counts if it is of the question's document and holds a golden answer as whole words. Needs numpy and PyStemmer.
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import time
import urllib.request

import numpy
import Stemmer

ENGLISH = Stemmer.Stemmer("english")
INTERROGATIVES = set("""what which who whom whose when where why how do does did is are was were can could should would will may i my me
we you your it its a an the of to in on at for""".split())
STOP_WORDS = INTERROGATIVES | set("""by from with as be been being am done have has had having shall might must mine us our he him his she her
they them their this that these those there here if then than so and or but not no nor too very just about into over under out up down off
again any some all each every both few more most other such only own same get got want need use using make made let please tell say""".split())
DEPTH, LEAST, CHANCE, SIXTHS = 100, 0.02, (1.0, 1.4), 6.0


def terms(text):
    words = []
    for word in re.findall(r"\w+(?:'\w+)*", text.lower().replace("’", "'")):
        words += [word, *filter(None, word.split("_"))] if "_" in word else [word]
    return ENGLISH.stemWords(words)


def query(text, without=frozenset()):
    kept = [word for word in re.findall(r"\w+(?:['’]\w+)*", text.lower()) if word not in without]
    return list(dict.fromkeys(terms(" ".join(kept) or text)))


def plain(text):
    return " ".join(re.findall(r"\w+", text.lower()))


def sentences(text):
    kept, current = [], ""
    for part in re.split(r"(?<=[.!?])\s+|\n+", text):
        current = f"{current} {part.strip()}".strip()
        if len(current.split()) >= 8:
            kept, current = [*kept, current], ""
    return [*kept, current] if current else kept or [text]


class Corpus:
    def __init__(self, path):
        self.passages, vectors = [], []
        for segment in sorted((path / "segments").iterdir()):
            titles = {}
            for line in open(segment / "documents.jsonl"):
                document = json.loads(line)
                titles[document["id"]] = document.get("title") or ""
            passages = [json.loads(line) for line in open(segment / "passages.jsonl")]
            for passage in passages:
                passage["document"] = passage["id"].rsplit("#", 1)[0]
                passage["head"] = f"{titles.get(passage['document'], '')} {passage.get('heading', '')}"
            numbers = numpy.fromfile(segment / "vectors.f32", numpy.float32)
            width = 384
            vectors.append(numbers[: len(passages) * width].reshape(len(passages), width))
            self.passages += passages
        self.vectors = numpy.concatenate(vectors)
        self.count = len(self.passages)
        self.lengths, postings = numpy.zeros(self.count), {}
        for place, passage in enumerate(self.passages):
            words = terms(passage["head"]) * 2 + terms(passage["text"])
            self.lengths[place] = len(words)
            for word in set(words):
                postings.setdefault(word, []).append((place, words.count(word)))
        self.postings = {word: tuple(map(numpy.array, zip(*of))) for word, of in postings.items()}

    def rarity(self, word):
        held = len(self.postings[word][0]) if word in self.postings else 0
        return math.log(1 + (self.count - held + 0.5) / (held + 0.5))

    def bm25(self, words, k1=1.2, b=0.75):
        scores = numpy.zeros(self.count)
        for word in words:
            if word in self.postings:
                places, frequencies = self.postings[word]
                length = self.lengths[places] / self.lengths.mean()
                scores[places] += self.rarity(word) * frequencies * (k1 + 1) / (frequencies + k1 * (1 - b + b * length))
        return scores, (1 + k1) * sum(map(self.rarity, words))

    def fused(self, vector, words, weight=1.0, power=0.5, **bm25):
        """The fused scores by place, with what they are made of."""
        cosines, (lexical, most) = self.vectors @ vector, self.bm25(words, **bm25)
        step = max(self.count // 32, 8)
        sample = cosines[[at for start in range(0, self.count, step) for at in range(start, min(start + 8, self.count))]]
        above = (cosines - sample.mean()) / sample.std()
        dense, words_best = (numpy.argpartition(-scores, DEPTH)[:DEPTH] for scores in (cosines, lexical))
        words_best = words_best[lexical[words_best] > 0]
        chance = math.sqrt(2 * math.log(self.count))
        trust = min(max((above[dense].max() / chance - CHANCE[0]) / (CHANCE[1] - CHANCE[0]), LEAST), 1)
        top = lexical.max()
        unit = top**power * max(most, top) ** (1 - power) or 1
        scores = {place: trust * above[dense].min() / SIXTHS for place in words_best}
        scores |= {place: trust * above[place] / SIXTHS for place in dense}
        for place in words_best:
            scores[place] += weight * lexical[place] / unit
        whole = trust * above / SIXTHS + lexical / unit
        return scores, whole, lambda cosine: trust * (cosine - sample.mean()) / sample.std() / SIXTHS


def ranked(scores, most=10):
    return [place for place, _ in sorted(scores.items(), key=lambda item: -item[1])[:most]]


def embedder(ken, corpus):
    port = 9933
    server = subprocess.Popen([ken, "serve", "--corpus", corpus, "--listen", f"127.0.0.1:{port}"], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)

    def embed(texts):
        vectors = []
        for start in range(0, len(texts), 32):
            body = json.dumps({"model": "ken/embedder", "input": texts[start : start + 32], "truncate": True}).encode()
            request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/embeddings", body, {"Content-Type": "application/json"})
            vectors += [one["embedding"] for one in json.load(urllib.request.urlopen(request))["data"]]
        return numpy.array(vectors, numpy.float32)

    for _ in range(200):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/ready")
            return server, embed
        except OSError:
            time.sleep(0.3)
    sys.exit("the server did not start")


def main(ken, path, questions):
    corpus = Corpus(pathlib.Path(path))
    asked = [question for question in map(json.loads, open(questions)) if question["metadata"]["kind"] == "stated"]
    server, embed = embedder(ken, path)
    try:
        compare(corpus, asked, embed)
    finally:
        server.terminate()


def compare(corpus, asked, embed):
    def answers(passage, question):
        text = f" {plain(passage['head'] + ' ' + passage['text'])} "
        of = passage["document"].startswith(question["metadata"]["document"].rsplit(".", 1)[0])
        return of and any(f" {plain(golden)} " in text for golden in question["golden_answers"])

    gold = [{at for at, passage in enumerate(corpus.passages) if answers(passage, question)} for question in asked]
    vectors = embed([question["question"] for question in asked])

    def show(name, rankings):
        ranks = [next((rank for rank, place in enumerate(ranking) if place in of), 99) for ranking, of in zip(rankings, gold)]
        shares = "  ".join(f"@{k} {sum(rank < k for rank in ranks) / len(ranks):.3f}" for k in (1, 3, 5, 10))
        print(f"{name:34} {shares}  MRR@10 {sum(1 / (rank + 1) for rank in ranks if rank < 10) / len(ranks):.3f}", flush=True)

    plainly = [query(question["question"]) for question in asked]
    show("dense", [numpy.argsort(-(corpus.vectors @ vector))[:10] for vector in vectors])
    for name, without in (("", set()), (", no interrogatives", INTERROGATIVES), (", no stop words", STOP_WORDS)):
        words = [query(question["question"], without) for question in asked]
        show(f"lexical{name}", [numpy.argsort(-corpus.bm25(of)[0])[:10] for of in words])
        show(f"hybrid{name}", [ranked(corpus.fused(vector, of)[0]) for vector, of in zip(vectors, words)])
    for name, settings in (
        *((f"k1 {k1}, b {b}", {"k1": k1, "b": b}) for k1, b in ((0.9, 0.4), (1.2, 0.4), (0.9, 0.75), (1.5, 0.75), (2, 0.9), (1.2, 0.9))),
        *((f"words count {weight}", {"weight": weight}) for weight in (0.5, 0.7, 0.85, 1.2, 1.5, 2)),
        *((f"power of the best score {power}", {"power": power}) for power in (0, 0.25, 0.75, 1)),
    ):
        show(name, [ranked(corpus.fused(vector, of, **settings)[0]) for vector, of in zip(vectors, plainly)])
    base = [corpus.fused(vector, of) for vector, of in zip(vectors, plainly)]

    def beside(scores, whole, weight):
        def best(place):
            near = [at for at in (place - 1, place + 1) if 0 <= at < corpus.count]
            near = [whole[at] for at in near if corpus.passages[at]["document"] == corpus.passages[place]["document"]]
            return max(near, default=0)

        return {place: score + weight * best(place) for place, score in scores.items()}

    def by_document(scores, weight):
        of = {}
        for place in ranked(scores, len(scores)):
            of.setdefault(corpus.passages[place]["document"], []).append(scores[place])
        return {place: score + weight * sum(of[corpus.passages[place]["document"]][:3]) / 3 for place, score in scores.items()}

    for weight in (0.1, 0.2, 0.4):
        show(f"neighbors count {weight}", [ranked(beside(scores, whole, weight)) for scores, whole, _ in base])
        show(f"the document counts {weight}", [ranked(by_document(scores, weight)) for scores, _, _ in base])
    top = [ranked(scores, 20) for scores, _, _ in base]
    parts = list(dict.fromkeys(part for places in top for place in places for part in sentences(corpus.passages[place]["text"])))
    near = dict(zip(parts, embed(parts)))

    def covered(place, words, whole_passage):
        passage = corpus.passages[place]
        texts = [passage["head"] + " " + passage["text"]] if whole_passage else sentences(passage["text"])
        total = sum(map(corpus.rarity, words)) or 1
        return max(sum(corpus.rarity(word) for word in words if word in held) for held in (set(terms(text)) for text in texts)) / total

    for weight in (0.25, 0.5, 1):
        show(f"the nearest sentence counts {weight}", [
            ranked({place: scores[place] + weight * scaled(max(float(near[part] @ vector) for part in sentences(corpus.passages[place]["text"]))) for place in places})
            for (scores, _, scaled), places, vector in zip(base, top, vectors)
        ])
        for name, whole_passage in (("a sentence", False), ("the passage", True)):
            show(f"words in {name} count {weight}", [
                ranked({place: scores[place] + weight * covered(place, words, whole_passage) for place in places})
                for (scores, _, _), places, words in zip(base, top, plainly)
            ])


if __name__ == "__main__":
    main(*sys.argv[1:])
