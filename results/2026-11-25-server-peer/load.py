#!/usr/bin/env python3
"""Clients that ask a server, one question after the other, and read its streams.

    python3 load.py ken|peer URL QUESTIONS.jsonl FIRST COUNT CLIENTS > out.json

The questions are COUNT of the file from the FIRST on. A first token is the first part of an answer that is not empty.
"""
import http.client
import json
import math
import sys
import threading
import time
import urllib.parse

kind, url, path, first, count, clients = sys.argv[1:7]
first, count, clients = int(first), int(count), int(clients)
questions = [json.loads(line) for line in open(path)][first : first + count]
host = urllib.parse.urlsplit(url).netloc


def request(question):
    if kind == "peer":
        return "/ask", {"question": question}
    return "/v1/chat/completions", {
        "model": "ken/always",
        "messages": [{"role": "user", "content": question}],
        "stream": True,
        "max_tokens": 24,
        "stream_options": {"include_usage": True},
        "ken": {"style": "short", "k": 3},
    }


def ask(connection, question):
    target, body = request(question)
    begun, wait, text = time.perf_counter(), None, ""
    connection.request("POST", target, json.dumps(body), {"content-type": "application/json"})
    reply = connection.getresponse()
    assert reply.status == 200, reply.read()
    for line in reply:
        if not line.startswith(b"data: {"):
            continue
        chunk = json.loads(line[6:])
        assert "error" not in chunk, chunk
        part = (chunk["choices"][0]["delta"].get("content") or "") if chunk["choices"] else ""
        if part and wait is None:
            wait = time.perf_counter() - begun
        text += part
    took = time.perf_counter() - begun
    return took if wait is None else wait, took, text


def main():
    waits, times, right, failed, lock, rest = [], [], [0], [], threading.Lock(), iter(questions)

    def client():
        connection = http.client.HTTPConnection(host, timeout=600)
        try:
            while True:
                with lock:
                    asked = next(rest, None)
                if asked is None:
                    return
                wait, took, text = ask(connection, asked["question"])
                with lock:
                    waits.append(wait)
                    times.append(took)
                    right[0] += any(golden.lower() in text.lower() for golden in asked["golden_answers"])
        except Exception as error:  # reported below
            failed.append(error)

    begun = time.perf_counter()
    threads = [threading.Thread(target=client) for _ in range(clients)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    took = time.perf_counter() - begun
    if failed:
        raise failed[0]
    waits.sort()
    times.sort()
    rank = lambda values, share: round(values[math.ceil(share * len(values)) - 1] * 1000, 1)
    json.dump(
        dict(
            server=kind,
            clients=clients,
            questions=len(times),
            questions_per_s=round(len(times) / took, 3),
            first_token_ms_p50=rank(waits, 0.5),
            first_token_ms_p99=rank(waits, 0.99),
            answer_ms_p50=rank(times, 0.5),
            answer_ms_p99=rank(times, 0.99),
            contains_golden=round(right[0] / len(times), 3),
        ),
        sys.stdout,
    )
    print()


main()
