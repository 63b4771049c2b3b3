#!/usr/bin/env bash
# the same with a pruner that reads, and with the medium member's pruner for the large one; one passage
set -e
C="--corpus sent.ken"
T=$(grep -o 'perplexity@[0-9.]*' zr/sent-large-large/calibrate.txt | head -1)
$KEN train pruner zr/sent-large/mastery.jsonl $C --features likelihood --head mlp:16 --model ./island-large --out zr/sent-large/pruner-likelihood.json
$KEN study run zr/measure.jsonl $C $EMB --model large=./island-large --scales 0,12 --ks 1 --prune 0,0.1,0.3,0.5,0.6,0.7 --pruner zr/sent-large/pruner-likelihood.json --policy uncertainty:$T --max-tokens 8 --out zr/sent-large-likelihood
mkdir -p zr/sent-medium
$KEN probe zr/teach.jsonl --model ./island-medium $C $EMB --k 1 --samples 10 --max-tokens 8 --batch 64 --out zr/sent-medium/known.jsonl
$KEN label mastery $C --questions zr/teach.jsonl --records zr/sent-medium/known.jsonl --model ./island-medium --max-tokens 8 --out zr/sent-medium/mastery.jsonl
for f in embedding likelihood; do
$KEN train pruner zr/sent-medium/mastery.jsonl $C --features $f --head mlp:16 --model ./island-medium --out zr/sent-medium/pruner-$f.json
done
$KEN study run zr/measure.jsonl $C $EMB --model large=./island-large --scales 0,12 --ks 1 --prune 0,0.3,0.6 --pruner zr/sent-medium/pruner-embedding.json --policy uncertainty:$T --max-tokens 8 --out zr/sent-medium-for-large
