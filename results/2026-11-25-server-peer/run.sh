#!/usr/bin/env bash
# KEN=ken PYTHON=venv/bin/python bash run.sh MODEL.gguf EMBEDDER_FOLDER CORPUS.jsonl CORPUS.ken QUESTIONS.jsonl OUT
# Asks each server in turn by 1, 8 and 32 clients, and searches by 64; the raw numbers go to OUT.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
model=$1 embedder=$2 jsonl=$3 corpus=$4 questions=$5 out=$6
mkdir -p "$out"
wait_for() { for _ in $(seq 600); do curl -sf -o /dev/null "$1" && return; sleep 0.5; done; echo "no answer from $1" >&2; exit 1; }
measure() { # kind url
    python3 "$here/load.py" "$1" "$2" "$questions" 0 4 1 > /dev/null
    : > "$out/$1.jsonl"
    for plan in "100 24 1" "200 48 8" "300 64 32"; do
        python3 "$here/load.py" "$1" "$2" "$questions" $plan | tee -a "$out/$1.jsonl"
    done
    SERVER=$1 QUESTIONS=$questions wrk -t1 -c64 -d20s --latency -s "$here/search.lua" "$2" | tee "$out/$1.search.txt"
}
for round in $ORDER; do
    case $round in
    ken)
        "$KEN" serve --corpus "c=$corpus" --embedder "$embedder" --model "$model" --listen 127.0.0.1:8602 --parallel 32 > "$out/ken.log" 2>&1 &
        server=$!
        wait_for http://127.0.0.1:8602/ready
        measure ken http://127.0.0.1:8602
        ;;
    peer)
        "$PYTHON" "$here/peer.py" "$model" "$embedder" "$jsonl" 8 8601 > "$out/peer.log" 2>&1 &
        server=$!
        wait_for http://127.0.0.1:8601/docs
        measure peer http://127.0.0.1:8601
        ;;
    esac
    grep VmHWM "/proc/$server/status" | tee "$out/$round.memory.txt"
    kill "$server" && wait "$server" || true
done
