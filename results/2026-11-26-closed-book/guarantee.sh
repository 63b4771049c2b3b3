#!/usr/bin/env bash
# guarantee.sh: the thresholds of policies on records of Natural Questions at a loss of 0.02, guaranteed and measured
K=${KEN:-ken}; C="--corpus ../mixed.ken $EMB"
each() { for goal in --max-loss --measured-loss; do echo "$1 ${*:2:2} $goal 0.02"; $K calibrate nq-held-out-records.jsonl --policy $1 $goal 0.02 $C ${@:2} 2>&1 | grep -E "threshold|ratio|used|lost|accuracy|questions|error|hint" | sed 's/^/  /'; done; }
for p in prompt certainty uncertainty:{perplexity,mean-token-entropy,max-token-entropy,margin,semantic-entropy,lexical-similarity}; do each $p --samples 5; done
for p in evidence:{cosine,lead,bm25,agreement,confidence,gain,doubt}; do each $p; done
for f in evidence answers; do each evidence:gate --gate gate-$f.json; done
for f in words embedding first-token hidden hidden-semantic-entropy first-token-semantic-entropy hidden-certainty; do [ -f router-$f.json ] && each router --router router-$f.json $M15; done
[ -d kbm ] && each kbm --kbm kbm $M15
