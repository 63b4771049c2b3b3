#!/usr/bin/env bash
# double.sh MEMBER: the threshold of double judgment by `ken calibrate`, and by that of the policy without it
set -e
M=$1; KEN=${KEN:-ken}; C="--corpus island.ken --k 1"; T=d/$M; mkdir -p $T
say() { echo "## $(date +%T) $*"; }
say probe; $KEN probe open.jsonl --model ./island-$M $C --samples 10 --max-tokens 8 --batch 64 --out $T/known.jsonl
[ -f $T/kbm/config.json ] || { say kbm; $KEN train kbm $T/known.jsonl --model ./island-$M --corpus island.ken --held-out 0.5 --full --soft --batch 64 --learning-rate 1e-3 --epochs 3 --weight-decay 0.1 --out $T/kbm; }
# Taught are the subjects from 0.5 on, calibrated is on those from 0.25 on, and measured on the rest.
policies=never,always
for signal in kbm kbm:certainty uncertainty:perplexity certainty; do
  for review in "" +double; do
    say calibrate $signal$review
    $KEN calibrate $T/known.jsonl --held-out 0.25 --policy $signal$review --kbm $T/kbm --model ./island-$M --corpus island.ken --json > $T/$signal$review.json
    $KEN calibrate $T/known.jsonl --held-out 0.25 --policy $signal$review --kbm $T/kbm --model ./island-$M --corpus island.ken --max-loss 0.05
    threshold=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["threshold"])' $T/$signal$review.json)
    [ "$threshold" != None ] || { say "no threshold"; continue; }
    case $review in
      "") policies=$policies,$signal@$threshold,$signal@$threshold+double ;;
      *) policies=$policies,$signal@$threshold+double ;;
    esac
  done
done
say eval $policies
$KEN eval open.jsonl --held-out 0.25 $C --model ./island-$M --max-tokens 8 --batch 64 --kbm $T/kbm --policy $policies --out $T/compared
say done
