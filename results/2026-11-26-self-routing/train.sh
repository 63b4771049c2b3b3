#!/usr/bin/env bash
# train.sh MEMBER RATE [--no-verbalization]: one training on labels of half of the subjects, and its evaluation on a quarter
C="--corpus island.ken --k 1 $EMB"; T=t/$1
$KEN train self-route $T/labels.jsonl --model ./island-$1 --held-out 0.5 --rule sum --full --soft --batch 64 --learning-rate $2 --epochs 3 --weight-decay 0.3 $3 --out $T/gentle-$2$3
$KEN eval open.jsonl --held-out 0.25 $C --model ./$T/gentle-$2$3 --max-tokens 8 --batch 64 --by kind --policy self-route,never,always,oracle --out $T/gentle-$2$3-compared
