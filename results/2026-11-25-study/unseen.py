"""Questions that a study never saw: python3 unseen.py QUESTIONS.jsonl CELL.jsonl N > unseen.jsonl"""
import json, random, sys
seen = {json.loads(line).get("id") for line in open(sys.argv[2])}
rest = [line for line in open(sys.argv[1]) if json.loads(line)["id"] not in seen]
random.Random(0).shuffle(rest)
sys.stdout.writelines(rest[: int(sys.argv[3])])
