"""Halves of the questions by subject: one teaches and sets thresholds, the other measures."""
import hashlib, json
teach, measure = open("zr/teach.jsonl", "w"), open("zr/measure.jsonl", "w")
for line in open("open.jsonl"):
    subject = json.loads(line)["metadata"]["subject"]
    half = teach if hashlib.sha256(subject.encode()).digest()[0] % 2 == 0 else measure
    half.write(line)
