#!/usr/bin/env python3
"""What `int8` costs: perplexities of passages through ken and through llama.cpp, of the same GGUF file and the same
tokens, and how far ken's log probabilities in `int8` are from those in `f32`.

    python3 -m venv venv && venv/bin/pip install numpy xllamacpp
    venv/bin/python price.py ken MODEL.gguf CORPUS.jsonl.gz PASSAGES > price.json

`ken` is the program. The first words of a passage are its prompt, the rest is scored. llama.cpp's functions are called
in the library of PyPI's xllamacpp; structs are passed as the library's own defaults give them, on x86-64 and where the
platform's calling convention copies large structs likewise.
"""
import ctypes
import glob
import gzip
import json
import math
import subprocess
import sys
import tempfile

import numpy
import xllamacpp

PROMPT_WORDS = 8
THREADS = 2


def requests(path, count):
    with gzip.open(path, "rt") as lines:
        texts = [json.loads(line)["contents"] for line in lines][:count]
    for text in texts:
        words = text.split(" ")
        yield dict(prompt=" ".join(words[:PROMPT_WORDS]), continuation=" " + " ".join(words[PROMPT_WORDS:]))


def through_ken(ken, model, file, precision):
    command = [ken, "model", "score", model, "--requests", file, "--precision", precision, "--json"]
    return [json.loads(line) for line in subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines()]


class Opaque(ctypes.Structure):
    """A struct of llama.cpp's, longer than any of its own: what is past its end is not looked at."""

    _fields_ = [("words", ctypes.c_uint32 * 512)]


class Batch(ctypes.Structure):
    _fields_ = [
        ("n_tokens", ctypes.c_int32),
        ("token", ctypes.POINTER(ctypes.c_int32)),
        ("embd", ctypes.POINTER(ctypes.c_float)),
        ("pos", ctypes.POINTER(ctypes.c_int32)),
        ("n_seq_id", ctypes.POINTER(ctypes.c_int32)),
        ("seq_id", ctypes.POINTER(ctypes.POINTER(ctypes.c_int32))),
        ("logits", ctypes.POINTER(ctypes.c_int8)),
    ]


class Llama:
    def __init__(self, path, context):
        (library,) = glob.glob(xllamacpp.__path__[0] + "/xllamacpp*.so")
        self.library = ctypes.CDLL(library)
        call = self.call
        call("llama_backend_init", None)
        self.quiet = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)(lambda *_: None)
        call("llama_log_set", None, self.quiet, None)
        params = call("llama_model_default_params", Opaque)
        self.model = call("llama_model_load_from_file", ctypes.c_void_p, path.encode(), params)
        assert self.model, path
        params = call("llama_context_default_params", Opaque)
        # Context, batch and part of a batch come first.
        assert list(params.words[:3]) == [512, 2048, 512], list(params.words[:8])
        params.words[0], params.words[1], params.words[2] = context, context, min(context, 512)
        self.context = call("llama_init_from_model", ctypes.c_void_p, ctypes.c_void_p(self.model), params)
        assert self.context
        call("llama_set_n_threads", None, ctypes.c_void_p(self.context), THREADS, THREADS)
        vocabulary = call("llama_model_get_vocab", ctypes.c_void_p, ctypes.c_void_p(self.model))
        self.width = call("llama_vocab_n_tokens", ctypes.c_int32, ctypes.c_void_p(vocabulary))
        self.batch = call("llama_batch_init", Batch, context, 0, 1)

    def call(self, name, result, *arguments):
        function = getattr(self.library, name)
        function.restype = result
        return function(*arguments)

    def score(self, prompt, continuation):
        """The log probability of each token of the continuation."""
        tokens, first = prompt + continuation, len(prompt) - 1
        memory = self.call("llama_get_memory", ctypes.c_void_p, ctypes.c_void_p(self.context))
        self.call("llama_memory_clear", None, ctypes.c_void_p(memory), True)
        batch = self.batch
        batch.n_tokens = len(tokens)
        for place, token in enumerate(tokens):
            batch.token[place], batch.pos[place] = token, place
            batch.n_seq_id[place], batch.seq_id[place][0] = 1, 0
            batch.logits[place] = place >= first
        assert self.call("llama_decode", ctypes.c_int32, ctypes.c_void_p(self.context), batch) == 0
        found = []
        for place, token in enumerate(continuation):
            pointer = ctypes.POINTER(ctypes.c_float)
            row = self.call("llama_get_logits_ith", pointer, ctypes.c_void_p(self.context), first + place)
            row = numpy.ctypeslib.as_array(row, (self.width,)).astype(numpy.float64)
            found.append(float(row[token] - row.max() - numpy.log(numpy.exp(row - row.max()).sum())))
        return found


def perplexity(scores):
    return math.exp(-sum(map(sum, scores)) / sum(map(len, scores)))


def differences(one, other):
    """Mean and worst difference of a token's log probability, and of a text's."""
    tokens = [abs(a - b) for a, b in zip(sum(one, []), sum(other, []))]
    texts = [abs(sum(a) - sum(b)) for a, b in zip(one, other)]
    mean = lambda numbers: sum(numbers) / len(numbers)
    return dict(token_mean=mean(tokens), token_worst=max(tokens), text_mean=mean(texts), text_worst=max(texts))


def main():
    ken, model, corpus, count = sys.argv[1:]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        for request in requests(corpus, int(count)):
            print(json.dumps(request), file=file)
        file.flush()
        found = {precision: through_ken(ken, model, file.name, precision) for precision in ["f32", "int8"]}
    exact = found["f32"]
    scores = {precision: [line["logprobs"] for line in lines] for precision, lines in found.items()}
    longest = max(len(line["prompt_tokens"]) + len(line["continuation_tokens"]) for line in exact)
    llama = Llama(model, -(-longest // 256) * 256)
    scores["llama.cpp"] = [llama.score(line["prompt_tokens"], line["continuation_tokens"]) for line in exact]
    perplexities = {name: perplexity(of) for name, of in scores.items()}
    out = dict(
        model=model.rsplit("/", 1)[-1],
        passages=len(exact),
        tokens=sum(len(line["continuation_tokens"]) for line in exact),
        perplexity=perplexities,
        ratio_to_f32={name: of / perplexities["f32"] for name, of in perplexities.items()},
        from_f32={name: differences(scores[name], scores["f32"]) for name in ["int8", "llama.cpp"]},
    )
    print(json.dumps(out, indent=1))


main()
