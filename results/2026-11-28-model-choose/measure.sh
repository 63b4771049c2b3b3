#!/usr/bin/env bash
# Estimated and measured tokens a second of models: measure.sh MODEL.gguf...
set -euo pipefail
for round in 1 2 3; do
  rate="$(ken model choose --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["weight_bytes_per_s"])')"
  for model in "$@"; do
    measured="$(ken doctor --model "$model" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["speed"]["write_tokens_per_s"])')"
    python3 -c "import os; e = $rate / os.path.getsize('$model'); print('$model', round(e, 1), round($measured, 1), round(e / $measured, 2))"
  done
done
