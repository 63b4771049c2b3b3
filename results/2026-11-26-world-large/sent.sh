#!/usr/bin/env bash
# sent.sh MEMBER READER: prunes sentences of the world by what MEMBER has mastered, and studies READER over it
set -e
m=$1; r=$2; C="--corpus sent.ken"; O=zr/sent-$m-$r; mkdir -p $O; P=zr/sent-$m; mkdir -p $P
[ -f $P/known.jsonl ] || $KEN probe zr/teach.jsonl --model ./island-$m $C $EMB --k 1 --samples 10 --max-tokens 8 --batch 64 --out $P/known.jsonl
[ -f $P/mastery.jsonl ] || $KEN label mastery $C --questions zr/teach.jsonl --records $P/known.jsonl --model ./island-$m --max-tokens 8 --out $P/mastery.jsonl
[ -f $P/pruner.json ] || $KEN train pruner $P/mastery.jsonl $C --features embedding --head mlp:16 --model ./island-$m --out $P/pruner.json
[ -f zr/sent-$r/known.jsonl ] || $KEN probe zr/teach.jsonl --model ./island-$r $C $EMB --k 1 --samples 10 --max-tokens 8 --batch 64 --out zr/sent-$r/known.jsonl
$KEN calibrate zr/sent-$r/known.jsonl --policy uncertainty:perplexity --ratio 0.4 | tee $O/calibrate.txt
T=$(grep -o 'perplexity@[0-9.]*' $O/calibrate.txt | head -1)
$KEN study run zr/measure.jsonl $C $EMB --model $r=./island-$r --scales 0,12 --ks 1,3 --prune 0,0.1,0.3,0.5,0.6,0.7 --pruner $P/pruner.json --policy uncertainty:$T,uncertainty:margin@0.5 --max-tokens 8 --out $O/study
