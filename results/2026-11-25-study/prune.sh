#!/usr/bin/env bash
# Prunes the known world by what the medium member has mastered, and studies it over shares pruned, k and policies:
# bash prune.sh, where island.ken, island-medium, open.jsonl and known-medium.jsonl (of `ken probe open.jsonl --k 1 --samples 2`) stand
set -euo pipefail
python3 split.py
python3 - <<'P'
import json
keep = {json.loads(line)["id"] for line in open("teach.jsonl")}
lines = open("known-medium.jsonl").read().splitlines()
kept = [line for line in lines[1:] if json.loads(line)["id"] in keep]
open("known.jsonl", "w").write("\n".join(lines[:1] + kept) + "\n")
P
C="--corpus island.ken --threads 1"
ken label mastery $C --questions teach.jsonl --records known.jsonl --model ./island-medium --out mastery.jsonl
ken train pruner mastery.jsonl $C --features embedding --head mlp:16 --model ./island-medium --out pruner.json
ken calibrate known.jsonl --policy uncertainty:perplexity --ratio 0.4   # says 1.1707285174270732
ken study run measure.jsonl $C --model medium=./island-medium --scales 0,12 --ks 1,3 --prune 0,0.1,0.3,0.5,0.7 --pruner pruner.json \
    --policy uncertainty:perplexity@1.1707285174270732,uncertainty:margin@0.5 --out pruned.study > pruned.txt
