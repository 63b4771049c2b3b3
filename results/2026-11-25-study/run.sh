#!/usr/bin/env bash
# The studies: bash run.sh CORPUS.ken MODELS_FOLDER; nq.jsonl and webq.jsonl stand here
set -euo pipefail
C="--corpus $1 --scales 0-8 --ks 3 --limit 300 --precision int8 --threads 1"
S="135m=$2/SmolLM2-135M-Instruct.Q4_1.gguf"
M="0.5b=$2/qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
L="1.5b=$2/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
for set in nq webq; do
    ken study run $set.jsonl $C --model "$S" --model "$M" --out $set.a &
    ken study run $set.jsonl $C --model "$L" --out $set.b
    wait
    ken study join $set.a $set.b --out $set.study
    ken study report $set.study > $set.txt
done
# What was chosen, on questions that the study never saw
python3 unseen.py nq.jsonl nq.b/cells/nq/1.5b/n0.jsonl 400 > nq-unseen.jsonl
python3 unseen.py webq.jsonl webq.b/cells/webq/1.5b/n0.jsonl 400 > webq-unseen.jsonl
E="--corpus $1 --k 3 --precision int8 --threads 1 --limit 300"
ken eval webq-unseen.jsonl $E --model "${L#*=}" --policy never --out v-webq.jsonl > verify-webq-1.5b-0.txt
for n in 6 7 8; do
    ken eval nq-unseen.jsonl $E --model "${L#*=}" --scale $n --policy always --out v-nq-$n.jsonl > verify-nq-1.5b-$n.txt
done
ken eval nq-unseen.jsonl $E --model "${M#*=}" --scale 8 --policy always --out v-nq-0.5b.jsonl > verify-nq-0.5b-8.txt
