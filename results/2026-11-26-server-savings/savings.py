#!/usr/bin/env python3
"""What policies save, as a server's /metrics tell: python3 savings.py URL QUESTIONS.jsonl FIRST COUNT POLICY...

Asks COUNT questions by each policy in turn for short answers, four at a time, and prints a row of JSON for each:
what the counters of that policy grew by, and how many answers contain a golden one.
"""
import collections, concurrent.futures, http.client, json, re, string, sys, urllib.parse

url, path, first, count, policies = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]
host = urllib.parse.urlsplit(url).netloc
questions = [json.loads(line) for line in open(path)][first : first + count]


def counters():
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("GET", "/metrics")
    found = collections.Counter()
    for line in connection.getresponse().read().decode().splitlines():
        sample = re.match(r"ken_(answers|tokens)_total\{(.*)\} (\d+)", line)
        if sample:
            labels = dict(re.findall(r'(\w+)="([^"]*)"', sample[2]))
            found[sample[1], labels.get("source") or labels["kind"]] += int(sample[3])
    return found


def plain(text):
    text = "".join(letter for letter in text.lower() if letter not in string.punctuation)
    return " ".join(word for word in text.split() if word not in ("a", "an", "the"))


def ask(policy, question):
    body = {"question": question["question"], "ken": {"policy": policy, "style": "short"}}
    connection = http.client.HTTPConnection(host, timeout=600)
    connection.request("POST", "/v1/ken/ask", json.dumps(body), {"content-type": "application/json"})
    reply = json.loads(connection.getresponse().read())
    if "answer" not in reply:
        return None
    said = plain(reply["answer"])
    return any(f" {plain(golden)} " in f" {said} " for golden in question["golden_answers"])


for policy in policies:
    before = counters()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        right = list(pool.map(lambda question: ask(policy, question), questions))
    grew = counters() - before
    print(json.dumps(dict(
        policy=policy,
        questions=len(right),
        failed=right.count(None),
        contains_golden=right.count(True),
        answers={source: grew["answers", source] for source in ("self", "corpus")},
        tokens={kind: grew["tokens", kind] for kind in ("prompt", "completion")},
    )), flush=True)
