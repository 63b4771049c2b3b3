"""The part of many vectors that matters to some questions, small enough for experiments: near.py MODEL VECTORS QUESTIONS DEPTH FOLDER CORPUS.jsonl.gz...

Draws the vectors and questions of ../2026-11-30-ten-million/vectors.py, the same for the same numbers (of which the questions are the first of 1,000),
and keeps, as 16-bit floats:

- near.f16: every vector that is among the DEPTH nearest of any question,
- sample.f16: vectors spread evenly over all, to train codes on,
- queries.f32: the questions.
"""

import os
import sys

import numpy as np

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../2026-11-30-ten-million"))
from vectors import BLOCK, SEED, World, embedded

DRAWN_QUESTIONS = 1000
SAMPLE = 65_536


def main(model, vectors, questions, depth, folder, *paths):
    vectors, questions, depth = int(vectors), int(questions), int(depth)
    world = World(model, paths)
    rng = np.random.default_rng(SEED)
    # Tokens are drawn first, since the questions come last; they take 60 bytes a vector.
    blocks = [world.passages(rng, min(BLOCK, vectors - start)).astype(np.uint16) for start in range(0, vectors, BLOCK)]
    queries = embedded(world.questions(rng, DRAWN_QUESTIONS), world.table)[:questions].astype(np.float32)
    best = np.full((questions, depth), -2, np.float32)
    rows = np.zeros((questions, depth), np.int64)
    for number, block in enumerate(blocks):
        scores = queries @ embedded(block.astype(np.int32), world.table).T
        for question, floor in enumerate(best.min(axis=1)):
            better = np.flatnonzero(scores[question] > floor)
            kept = np.concatenate([best[question], scores[question, better]])
            of = np.concatenate([rows[question], better + number * BLOCK])
            top = np.argpartition(-kept, depth - 1)[:depth]
            best[question], rows[question] = kept[top], of[top]
    tokens = np.concatenate(blocks)
    for name, chosen in ("near", np.unique(rows)), ("sample", np.arange(0, vectors, -(-vectors // SAMPLE))):
        with open(os.path.join(folder, f"{name}.f16"), "wb") as file:
            for start in range(0, len(chosen), BLOCK):
                embedded(tokens[chosen[start : start + BLOCK]].astype(np.int32), world.table).astype(np.float16).tofile(file)
        print(name, len(chosen), flush=True)
    queries.tofile(os.path.join(folder, "queries.f32"))


if __name__ == "__main__":
    main(*sys.argv[1:])
