#!/usr/bin/env bash
# Zero-RAG's parts with and without, on sentences of the world, the large member
set -e
W=../2026-11-26-world-large
ken world make island
grep -v '"choices"' island/questions.jsonl > open.jsonl
mkdir -p zr; python3 $W/split.py; python3 split.py
ken ingest island/corpus.jsonl --corpus sent.ken --segment sentence
ken world train island --size large --out island-large
C="--corpus sent.ken --k 1"
ken probe zr/teach.jsonl --model ./island-large $C --samples 2 --max-tokens 8 --batch 64 --out zr/known.jsonl
python3 - <<'P'
import json
for part in ("tune", "route"):
    keep = {json.loads(line)["id"] for line in open(f"zr/{part}.jsonl")}
    lines = open("zr/known.jsonl").read().splitlines()
    kept = [line for line in lines[1:] if json.loads(line)["id"] in keep]
    open(f"zr/known-{part}.jsonl", "w").write("\n".join(lines[:1] + kept) + "\n")
P
for rate in 3e-5 1e-4 3e-4; do
ken train noise-tolerant zr/tune.jsonl --records zr/known-tune.jsonl $C --model ./island-large --full --batch 64 --learning-rate $rate --epochs 2 --weight-decay 0.1 --out zr/tolerant-$rate
done
mv zr/known-route.jsonl zr/known-route-untuned.jsonl
ken probe zr/route.jsonl --model ./zr/tolerant-1e-4 $C --samples 2 --max-tokens 8 --batch 64 --out zr/known-route-tuned.jsonl
for m in untuned tuned; do
[ $m = tuned ] && M=./zr/tolerant-1e-4 || M=./island-large
ken train router zr/known-route-$m.jsonl --model $M --features first-token --out zr/router-$m.json
ken label mastery --corpus sent.ken --questions zr/route.jsonl --records zr/known-route-$m.jsonl --model $M --max-tokens 8 --out zr/mastery-$m.jsonl
ken train pruner zr/mastery-$m.jsonl --corpus sent.ken --features embedding --head mlp:16 --model $M --out zr/pruner-$m.json
R="ken prune report --corpus sent.ken --pruner zr/pruner-$m.json --ratios 0,0.3,0.6 --questions zr/measure.jsonl --model $M --k 1 --max-tokens 8"
$R --batch 64 --policy router@0.5 --router zr/router-$m.json --out zr/arm-$m-router
$R --batch 64 --policy always --out zr/arm-$m-always
done
# times, with nothing else running
$R --batch 1 --limit 1000 --policy router@0.5 --router zr/router-tuned.json --out zr/times
# two more seeds of the tuning
for s in 1 2; do
T=./zr/tolerant-seed-$s; O=zr/seed-$s; mkdir -p $O
ken train noise-tolerant zr/tune.jsonl --records zr/known-tune.jsonl $C --model ./island-large --full --batch 64 --learning-rate 1e-4 --epochs 2 --weight-decay 0.1 --seed $s --out $T
ken probe zr/route.jsonl --model $T $C --samples 2 --max-tokens 8 --batch 64 --out $O/known.jsonl
ken train router $O/known.jsonl --model $T --features first-token --out $O/router.json
ken label mastery --corpus sent.ken --questions zr/route.jsonl --records $O/known.jsonl --model $T --max-tokens 8 --out $O/mastery.jsonl
ken train pruner $O/mastery.jsonl --corpus sent.ken --features embedding --head mlp:16 --model $T --out $O/pruner.json
R="ken prune report --corpus sent.ken --pruner $O/pruner.json --ratios 0,0.3,0.6 --questions zr/measure.jsonl --model $T --k 1 --max-tokens 8 --batch 64"
$R --policy router@0.5 --router $O/router.json --out $O/arm-tuned-router
$R --policy always --out $O/arm-tuned-always
done
