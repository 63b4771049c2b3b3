"""Vectors of texts as a static embedder makes them: weighted means of the word vectors of MiniLM, in 384 dimensions.

    vectors.py MODEL VECTORS QUERIES FOLDER CORPUS.jsonl.gz...

A passage has 20 words of one document and 10 of another, drawn with replacement; a question 8 words of one. The documents
are those of the corpora, of which each hundredth is kept for questions alone.
"""

import gzip
import json
import os
import sys

import numpy as np
import scipy.sparse
from safetensors.numpy import load_file
from tokenizers import Tokenizer

BLOCK = 100_000
SEED = 7


def documents(tokenizer, paths):
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            texts = [json.loads(line)["contents"] for line in file]
        for encoding in tokenizer.encode_batch(texts, add_special_tokens=False):
            if len(encoding.ids) >= 4:
                yield np.array(encoding.ids, np.int32)


def drawn(rng, tokens, starts, lengths, chosen, words):
    """`words` tokens of each of the chosen documents."""
    at = (rng.random((len(chosen), words)) * lengths[chosen, None]).astype(np.int64)
    return tokens[starts[chosen, None] + at]


def embedded(rows, table):
    count, words = rows.shape
    ones = np.ones(rows.size, np.float32)
    sparse = scipy.sparse.csr_matrix((ones, rows.ravel(), np.arange(0, rows.size + 1, words)), (count, len(table)))
    vectors = sparse @ table
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class World:
    """The documents as tokens, and the vectors of the tokens."""

    def __init__(self, model, paths):
        self.__dict__.update(world(model, paths))

    def passages(self, rng, count):
        """The tokens of passages, [count, 30]."""
        return np.hstack([self.drawn(rng, self.stored, count, words) for words in (20, 10)])

    def questions(self, rng, count):
        return self.drawn(rng, self.asked, count, 8)

    def drawn(self, rng, documents, count, words):
        return drawn(rng, self.tokens, self.starts, self.lengths, rng.choice(documents, count), words)


def world(model, paths):
    tokenizer = Tokenizer.from_file(os.path.join(model, "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    every = list(documents(tokenizer, paths))
    tokens = np.concatenate(every)
    lengths = np.array([len(document) for document in every])
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]])
    asked = np.arange(len(every)) % 100 == 0
    stored, asked = np.flatnonzero(~asked), np.flatnonzero(asked)

    # Arora and others' weights (a = 1e-3), and no common direction, as model2vec does.
    counts = np.bincount(tokens, minlength=tokenizer.get_vocab_size())
    weights = 1e-3 / (1e-3 + counts / counts.sum())
    table = load_file(os.path.join(model, "model.safetensors"))["embeddings.word_embeddings.weight"]
    table = table.astype(np.float32)
    table -= np.average(table, axis=0, weights=counts)
    table = np.ascontiguousarray(table * weights[:, None], np.float32)
    return {"tokens": tokens, "starts": starts, "lengths": lengths, "stored": stored, "asked": asked, "table": table}


def main(model, vectors, queries, folder, *paths):
    world = World(model, paths)
    rng = np.random.default_rng(SEED)
    with open(os.path.join(folder, "vectors.f32"), "wb") as file:
        for start in range(0, int(vectors), BLOCK):
            passages = world.passages(rng, min(BLOCK, int(vectors) - start))
            embedded(passages, world.table).astype(np.float32).tofile(file)
    questions = world.questions(rng, int(queries))
    embedded(questions, world.table).astype(np.float32).tofile(os.path.join(folder, "queries.f32"))
    print(f"{len(world.lengths)} documents, {len(world.tokens)} tokens")


if __name__ == "__main__":
    main(*sys.argv[1:])
