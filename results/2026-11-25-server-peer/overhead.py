#!/usr/bin/env python3
"""What the server adds to its stages: python3 overhead.py URL QUESTIONS.jsonl FIRST COUNT

Asks /v1/ken/ask one question at a time and compares what the client waits with the sum of the trace's stages.
"""
import http.client, json, statistics, sys, time, urllib.parse

url, path, first, count = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
questions = [json.loads(line)["question"] for line in open(path)][first : first + count]
connection = http.client.HTTPConnection(urllib.parse.urlsplit(url).netloc, timeout=600)
rows = []
for place, question in enumerate(questions):
    body = json.dumps({"question": question, "ken": {"policy": "always", "style": "short", "k": 3, "trace": True}})
    begun = time.perf_counter()
    connection.request("POST", "/v1/ken/ask", body, {"content-type": "application/json"})
    reply = connection.getresponse()
    answer = json.loads(reply.read())
    waited = (time.perf_counter() - begun) * 1000
    assert reply.status == 200, answer
    if place == 0:
        print(json.dumps(answer)[:600], file=sys.stderr)
        continue
    stages = {name: ms for name, ms in answer["timing_ms"].items() if name not in ("total", "draft")}
    rows.append((waited, sum(stages.values()), answer["timing_ms"].get("total")))
waited, staged = sum(row[0] for row in rows), sum(row[1] for row in rows)
print(json.dumps(dict(
    questions=len(rows),
    waited_ms=round(waited / len(rows), 2),
    stages_ms=round(staged / len(rows), 2),
    overhead=round(waited / staged - 1, 4),
    median_overhead_ms=round(statistics.median(row[0] - row[1] for row in rows), 2),
)))
