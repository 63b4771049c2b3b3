#!/usr/bin/env bash
# run.sh BEFORE AFTER: the same comparison by two builds, in turn; questions, corpus, embedder and model by $QUESTIONS, $CORPUS, $EMBEDDER, $MODEL
for round in 1 2; do
  for ken in "$@"; do
    start=$(date +%s.%N)
    $ken eval "$QUESTIONS" --limit 96 --corpus "$CORPUS" --embedder "$EMBEDDER" --model "$MODEL" --batch 16 \
      --policy never,always,oracle,uncertainty:perplexity,evidence:gain,evidence:doubt --out "$(basename "$ken")-$round" > /dev/null
    echo "$(basename "$ken") $round $(echo "$(date +%s.%N) - $start" | bc)"
  done
done
