#!/usr/bin/env bash
# BINARIES="old new" bash again.sh MODEL.gguf EMBEDDER_FOLDER CORPUS.ken QUESTIONS.jsonl OUT
# What the server adds to its stages (the last binary named), and searches by 64 clients by each binary in turn, twice.
set -euo pipefail
here=$(dirname "$(realpath "$0")")
model=$1 embedder=$2 corpus=$3 questions=$4 out=$5
mkdir -p "$out"
read -ra binaries <<< "$BINARIES"
round=0
for ken in "${binaries[@]}" "${binaries[@]}"; do
    round=$((round + 1))
    "$ken" serve --corpus "c=$corpus" --embedder "$embedder" --model "$model" --listen 127.0.0.1:8602 --parallel 32 > "$out/ken-$round.log" 2>&1 &
    server=$!
    for _ in $(seq 600); do curl -sf -o /dev/null http://127.0.0.1:8602/ready && break; sleep 0.5; done
    if [ "$ken" = "${binaries[-1]}" ]; then
        python3 "$here/overhead.py" http://127.0.0.1:8602 "$questions" 400 61 2> /dev/null > "$out/overhead-$round.json"
    fi
    SERVER=ken QUESTIONS=$questions wrk -t1 -c64 -d20s --latency -s "$here/search.lua" http://127.0.0.1:8602 > "$out/search-$round.txt"
    kill "$server" && wait "$server" || true
done
