"""Parts the teaching half by subject once more: one part tunes the model, the other teaches the router."""
import hashlib, json
tune, route = open("zr/tune.jsonl", "w"), open("zr/route.jsonl", "w")
for line in open("zr/teach.jsonl"):
    subject = json.loads(line)["metadata"]["subject"]
    part = tune if hashlib.sha256(subject.encode()).digest()[1] % 2 == 0 else route
    part.write(line)
