"""How long a list in the order of a code must be to hold the 10 nearest: codes.py FOLDER [NAME...], on the files of near.py; one line of JSON a code.

Every code here is a vector in place of the vector, with which the exact question is multiplied. The list is that of a scan over the codes.
"""

import json
import os
import sys
import time

import faiss
import numpy as np

K = 10
RECALLS = (0.9, 0.95, 0.99, 0.999)
BLOCK = 50_000
KEN_SAMPLE = 16_384
KEN_ITERATIONS = 8


def read(folder, name, kind):
    return np.fromfile(os.path.join(folder, name), kind).reshape(-1, 384)


# A quantizer is made of a sample; it takes vectors and returns those of their codes.


def product(parts, iterations=KEN_ITERATIONS):
    """PQ: a byte for each part."""

    def train(sample):
        quantizer = faiss.ProductQuantizer(sample.shape[1], parts, 8)
        quantizer.cp.niter = iterations
        quantizer.cp.max_points_per_centroid = 1 << 20
        quantizer.train(sample)
        return lambda vectors: quantizer.decode(quantizer.compute_codes(vectors))

    return train


def scalar(bits):
    """The nearest of 2^bits levels of each dimension (Lloyd)."""

    def train(sample):
        levels = np.quantile(sample, (np.arange(1 << bits) + 0.5) / (1 << bits), axis=0).astype(np.float32)
        for _ in range(12):
            of = cells(sample, levels)
            for level in range(1 << bits):
                inside = of == level
                levels[level] = (sample * inside).sum(axis=0) / np.maximum(inside.sum(axis=0), 1)
        return lambda vectors: np.take_along_axis(levels, cells(vectors, levels), 0)

    def cells(vectors, levels):
        bounds = (levels[1:] + levels[:-1]) / 2
        return sum((vectors > bound).astype(np.int64) for bound in bounds)

    return train


def grid(bits):
    """RaBitQ, extended: the point of a grid at the least angle, and one float to stretch it by, which makes the estimate unbiased."""

    def train(_):
        return quantized

    def quantized(vectors):
        half = (1 << bits) / 2
        deviation = np.sqrt((vectors**2).mean(axis=1, keepdims=True))
        best = np.zeros((len(vectors), 1), np.float32), np.zeros_like(vectors)
        for step in [1] if bits == 1 else np.linspace(0.6, 1.5, 10) * 2 / half:
            point = np.clip(np.floor(vectors / (deviation * step)), -half, half - 1) + np.float32(0.5)
            along = (vectors * point).sum(axis=1, keepdims=True)
            cosine = along / np.linalg.norm(point, axis=1, keepdims=True)
            stretched = point * ((vectors**2).sum(axis=1, keepdims=True) / along)
            better = cosine > best[0]
            best = np.where(better, cosine, best[0]), np.where(better, stretched, best[1])
        return best[1]

    return train


def stretched(inner):
    """One more float a vector, by which its code is multiplied, so that the vector's product with itself is right."""

    def train(sample):
        code = inner(sample)

        def quantized(vectors):
            of = code(vectors)
            return of * ((vectors**2).sum(axis=1, keepdims=True) / (vectors * of).sum(axis=1, keepdims=True))

        return quantized

    return train


def residual(centroids, inner):
    """The nearest of some centroids, and a code of what is left."""

    def train(sample):
        coarse = faiss.Kmeans(sample.shape[1], centroids, niter=10, max_points_per_centroid=64, seed=1)
        coarse.train(sample)
        near = lambda vectors: coarse.centroids[coarse.index.search(vectors, 1)[1][:, 0]]
        some = sample[:: -(-len(sample) // KEN_SAMPLE)]
        code = inner(some - near(some))

        def quantized(vectors):
            centroid = near(vectors)
            return centroid + code(np.ascontiguousarray(vectors - centroid))

        return quantized

    return train


def mapped(matrix_of, inner):
    """The code of the product with a matrix; the code's vector is multiplied with the inverse."""

    def train(sample):
        matrix = matrix_of(sample).astype(np.float32)
        inverse = np.linalg.inv(matrix.astype(np.float64)).astype(np.float32)
        code = inner(np.ascontiguousarray(sample @ matrix))
        return lambda vectors: code(np.ascontiguousarray(vectors @ matrix)) @ inverse

    return train


def rotation(sample):
    return np.linalg.qr(np.random.default_rng(1).standard_normal((sample.shape[1],) * 2))[0]


def optimized(iterations):
    """OPQ as faiss trains it."""

    def matrix(sample):
        turn = faiss.OPQMatrix(sample.shape[1], 96)
        turn.niter = iterations
        turn.train(sample)
        return faiss.vector_to_array(turn.A).reshape(sample.shape[1], -1).T

    return matrix


def balanced(power, parts=96):
    """Principal axes, dealt to the parts so that the products of their variances are alike (Ge and others 2013), and multiplied with their
    deviation to a power: at 1, what is least is the error of the product with vectors distributed as these, not that of the vectors."""

    def matrix(sample):
        variances, axes = np.linalg.eigh(sample.T.astype(np.float64) @ sample / len(sample))
        variances = np.maximum(variances, variances.max() * 1e-6)
        scaled = variances ** (1 + power)
        logs, members = np.zeros(parts), [[] for _ in range(parts)]
        size = len(variances) // parts
        for axis in np.argsort(-scaled):
            open_parts = [part for part in range(parts) if len(members[part]) < size]
            part = min(open_parts, key=lambda part: logs[part])
            members[part].append(axis)
            logs[part] += np.log(scaled[axis] / scaled.min()) + 1e-9
        order = np.concatenate(members)
        return (axes * variances ** (power / 2))[:, order]

    return matrix


# name: bytes a vector, vectors to train on, quantizer
CODES = {
    "PQ as in ken": (96, KEN_SAMPLE, product(96)),
    "PQ, 4 times the sample": (96, None, product(96)),
    "PQ, stretched": (98, KEN_SAMPLE, stretched(product(96))),
    "random rotation, PQ": (96, KEN_SAMPLE, mapped(rotation, product(96))),
    "OPQ": (96, KEN_SAMPLE, mapped(optimized(8), product(96))),
    "principal axes, PQ": (96, KEN_SAMPLE, mapped(balanced(0), product(96))),
    "principal axes, PQ, stretched": (98, KEN_SAMPLE, stretched(mapped(balanced(0), product(96)))),
    "principal axes by deviation^.5, PQ": (96, KEN_SAMPLE, mapped(balanced(0.5), product(96))),
    "principal axes by deviation, PQ": (96, KEN_SAMPLE, mapped(balanced(1), product(96))),
    "256 centroids, PQ of the residual": (97, None, residual(256, product(96))),
    "4,096 centroids, PQ of the residual": (98, None, residual(4096, product(96))),
    "RaBitQ, 1 bit": (52, KEN_SAMPLE, mapped(rotation, grid(1))),
    "RaBitQ, 2 bits": (100, KEN_SAMPLE, mapped(rotation, grid(2))),
    "scalar, 2 bits": (96, KEN_SAMPLE, scalar(2)),
    "random rotation, scalar, 2 bits": (96, KEN_SAMPLE, mapped(rotation, scalar(2))),
    "scalar, 4 bits": (192, KEN_SAMPLE, scalar(4)),
}


def products(queries, near, code=lambda vectors: vectors):
    blocks = (near[start : start + BLOCK].astype(np.float32) for start in range(0, len(near), BLOCK))
    return np.hstack([queries @ code(block).T for block in blocks])


def main(folder, *names):
    near, sample = read(folder, "near.f16", np.float16), read(folder, "sample.f16", np.float16).astype(np.float32)
    queries = read(folder, "queries.f32", np.float32)
    exact = products(queries, near)
    right = np.argpartition(-exact, K, axis=1)[:, :K]
    depth = int(os.environ.get("DEPTH", 4000))
    deepest = -np.partition(-exact, depth, axis=1)[:, depth]
    for name in names or CODES:
        width, trained_on, train = CODES[name]
        start = time.process_time()
        step = 1 if trained_on is None else -(-len(sample) // trained_on)
        code = train(np.ascontiguousarray(sample[::step]))
        train_s = time.process_time() - start
        scores = products(queries, near, code)
        ranks = np.array([
            [(row > row[index]).sum() for index in chosen] for row, chosen in zip(scores, right)
        ])
        lists = {str(share): int(np.sort(ranks.ravel())[int(np.ceil(share * ranks.size)) - 1]) + 1 for share in RECALLS}
        longest = min(lists["0.99"], scores.shape[1] - 1)
        listed = np.argpartition(-scores, longest, axis=1)[:, :longest]
        beyond = np.take_along_axis(exact, listed, 1) < deepest[:, None]
        error = np.take_along_axis(scores - exact, right, 1)
        print(json.dumps({
            "code": name, "bytes": width, "lists": lists, "error": float(error.std()), "bias": float(error.mean()),
            "beyond_depth": float(beyond.mean()), "train_s": round(train_s, 1), "s": round(time.process_time() - start, 1),
        }), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
