#!/usr/bin/env bash
# seeds.sh SEED...: a world, its small member, and the one comparison of it, for each seed
set -e
KEN=${KEN:-ken}
for s in "$@"; do
mkdir -p seed-$s; cd seed-$s
[ -f island/questions.jsonl ] || $KEN world make island --seed $s > world.txt 2>&1
[ -d island.ken ] || $KEN ingest island/corpus.jsonl --corpus island.ken $EMB
[ -f island-small/config.json ] || $KEN world train island --size small --out island-small > train.txt 2>&1
grep -v '"choices"' island/questions.jsonl > open.jsonl
[ -f truth.txt ] || $KEN world truth ./island-small island --limit 2000 > truth.txt 2>&1
bash ../table.sh small > table1.txt 2>&1
cd ..
done
