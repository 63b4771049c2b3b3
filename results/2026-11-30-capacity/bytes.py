"""Bytes per passage of corpora, by what they hold: python3 bytes.py NAME=CORPUS… prints one line of JSON for each."""

import json
import sys
from pathlib import Path


def parts(corpus):
    count = words = texts = lexical = 0
    for segment in (Path(corpus) / "segments").iterdir():
        for line in open(segment / "passages.jsonl", encoding="utf-8"):
            count += 1
            words += len(json.loads(line)["text"].split())
        texts += sum((segment / f"{name}.jsonl").stat().st_size for name in ("passages", "documents"))
        lexical += sum(file.stat().st_size for part in segment.glob("lexical*") for file in part.iterdir())
    return {
        "passages": count,
        "words": round(words / count, 1),
        "text_bytes": round(texts / count, 1),
        "lexical_bytes": round(lexical / count, 1),
    }


for argument in sys.argv[1:]:
    name, corpus = argument.split("=", 1)
    print(json.dumps({"corpus": name} | parts(corpus)))
