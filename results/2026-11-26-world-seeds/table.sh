#!/usr/bin/env bash
# table.sh MEMBER: everything that is taught, and one comparison of it, on subjects that nothing was taught about
set -e
M=$1; KEN=${KEN:-ken}; C="--corpus island.ken --k 1 $EMB"; T=t/$M; mkdir -p $T
say() { echo "## $(date +%T) $*"; }
say probe; $KEN probe open.jsonl --model ./island-$M $C --samples 10 --max-tokens 8 --batch 64 --out $T/known.jsonl
teach="--full --soft --batch 64 --learning-rate 1e-3"
[ -f $T/kbm/config.json ] || { say kbm; $KEN train kbm $T/known.jsonl --model ./island-$M --corpus island.ken $EMB --held-out 0.5 $teach --epochs 3 --weight-decay 0.1 --out $T/kbm; }
for f in hidden first-token; do say router $f; $KEN train router $T/known.jsonl --model ./island-$M --features $f --held-out 0.25 --out $T/router-$f.json; done
say router first-token-and-kbm; $KEN train router $T/known.jsonl --model ./island-$M --kbm $T/kbm --features first-token-and-kbm --held-out 0.25 --out $T/router-both.json
say gate; $KEN train gate $T/known.jsonl --corpus island.ken $EMB --held-out 0.25 --out $T/gate.json
say eval; $KEN eval open.jsonl --held-out 0.25 $C --model ./island-$M --max-tokens 8 --batch 64 --kbm $T/kbm --router $T/router-first-token.json --gate $T/gate.json --by kind \
  --policy never,always,oracle,random:0.5,prompt,certainty,uncertainty:perplexity,uncertainty:margin,router,kbm,kbm:certainty,kbm+double,kbm+relative,evidence:doubt,evidence:gate --out $T/compared
for f in hidden both; do say eval router $f; $KEN eval open.jsonl --held-out 0.25 $C --model ./island-$M --max-tokens 8 --batch 64 --kbm $T/kbm --router $T/router-$f.json --policy never,always,oracle,router --out $T/compared-$f; done
