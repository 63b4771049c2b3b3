#!/usr/bin/env python3
"""Answers over manuals, by ken and by a plain prompt, on the same questions, passages and model.

    bench.py ask QUESTIONS CORPUS MODEL OUT.jsonl KEN [FLAG...]     answers by `ken ask` with these flags
    bench.py plain QUESTIONS CORPUS MODEL OUT.jsonl KEN [K]         the K (3) best passages of `ken search` in a plain
                                                                    prompt, answered by llama.cpp's server (xllamacpp)
    bench.py table QUESTIONS NAME=OUT.jsonl...                      counts, with intervals

An answer is right if it holds one of the golden answers as whole words, refused if it says that there is no answer, by
ken's own account or by the words in REFUSALS. An unanswerable question is invented for unless it is refused.
"""
import json
import math
import re
import subprocess
import sys
import time
import urllib.request

REFUSALS = re.compile(
    r"documents do not say|do not know|don't know|no (?:specific )?(?:information|mention)|(?:not|n't) "
    r"(?:\w+ )?(?:mention|state|specif|provide|contain|include|given|list|describe|address|discuss|answer|say|available|clear)"
    r"|cannot|can't|unable",
    re.I,
)
# LlamaIndex's default, in its own arrangement: context, a rule, the query.
PLAIN = (
    "Context information is below.\n---------------------\n{context}\n---------------------\n"
    "Given the context information and not prior knowledge, answer the query.\nQuery: {question}\nAnswer: "
)


def plain_text(text):
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text.lower()).replace("`", "")
    return " ".join(text.split())


def holds(text, answer):
    return re.search(r"(?<!\w)" + re.escape(plain_text(answer)) + r"(?!\w)", plain_text(text)) is not None


def questions_of(path):
    return [json.loads(line) for line in open(path)]


def ask(questions, corpus, model, out, ken, *flags):
    asked = "\n".join(q["question"] for q in questions) + "\n"
    command = [ken, "ask", "-", "--json", "--corpus", corpus, "--model", model, *flags]
    run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    run.stdin.write(asked)
    run.stdin.close()
    with open(out, "w") as file:
        for question, line in zip(questions, run.stdout, strict=True):
            answer = json.loads(line)
            kept = {key: answer.get(key) for key in ("answer", "route", "reason", "withheld", "lack", "style", "tokens", "calls")}
            cited = [citation["doc_id"] for citation in answer["citations"]]
            kept |= {"id": question["id"], "s": answer["timing_ms"]["total"] / 1000, "cited": cited}
            file.write(json.dumps(kept) + "\n")
            file.flush()
    if run.wait():
        sys.exit(run.returncode)


def plain(questions, corpus, model, out, ken, k="3"):
    import xllamacpp

    asked = "\n".join(q["question"] for q in questions) + "\n"
    command = [ken, "search", "-", "--json", "--corpus", corpus, "--k", k]
    found = subprocess.run(command, input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx, params.n_parallel = 8192, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 2
    params.warmup = False
    server = xllamacpp.Server(params)
    with open(out, "w") as file:
        for question, line in zip(questions, found, strict=True):
            context = "\n\n".join(hit["text"] for hit in json.loads(line)["hits"])
            content = PLAIN.format(context=context, question=question["question"])
            body = dict(messages=[dict(role="user", content=content)], max_tokens=256, temperature=0)
            request = urllib.request.Request(
                server.listening_address + "/v1/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            started = time.perf_counter()
            reply = json.load(urllib.request.urlopen(request))
            answer = reply["choices"][0]["message"]["content"]
            record = dict(id=question["id"], answer=answer, s=time.perf_counter() - started, tokens=reply["usage"])
            file.write(json.dumps(record) + "\n")
            file.flush()


def wilson(count, of):
    if not of:
        return "-"
    z, p = 1.96, count / of
    middle, half = p + z * z / (2 * of), z * math.sqrt(p * (1 - p) / of + z * z / (4 * of * of))
    low, high = ((middle + sign * half) / (1 + z * z / of) for sign in (-1, 1))
    return f"{count}/{of} ({low:.2f} to {high:.2f})"


def table(questions, *arms):
    of = {question["id"]: question for question in questions}
    for arm in arms:
        name, path = arm.split("=", 1)
        rows = [(of[record["id"]], record) for record in map(json.loads, open(path))]

        def count(kind, test):
            return [test(q, r) for q, r in rows if q["metadata"]["kind"] == kind]

        def right(q, r):
            return any(holds(r["answer"], golden) for golden in q["golden_answers"])

        def refused(q, r):
            return not right(q, r) and (r.get("withheld") is not None or bool(REFUSALS.search(r["answer"])))

        def cited(q, r):
            document = q["metadata"]["document"]
            return right(q, r) and any(doc in (document, document.split("/", 1)[-1]) for doc in r.get("cited", []))

        print(f"## {name}")
        for words, kind, test in (
            ("stated, right", "stated", right),
            ("stated, right and cited rightly", "stated", cited),
            ("stated, refused", "stated", refused),
            ("unanswerable, invented for", "unanswerable", lambda q, r: not refused(q, r)),
            ("general, right", "general", right),
            ("general, refused", "general", refused),
        ):
            tests = count(kind, test)
            print(f"{words:34} {wilson(sum(tests), len(tests))}")
        seconds = sorted(record["s"] for _, record in rows)
        print(f"{'seconds, median':34} {seconds[len(seconds) // 2]:.1f}")


if __name__ == "__main__":
    verb, path, *rest = sys.argv[1:]
    {"ask": ask, "plain": plain, "table": table}[verb](questions_of(path), *rest)
