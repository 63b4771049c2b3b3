#!/usr/bin/env bash
# Runs every target, or those named, for some seconds each, several at a time, and prints a line of CSV for each:
# target, exit code, executions, seconds of CPU, edges covered, inputs kept. Exit code 0 is no finding; what was found
# is in artifacts/TARGET. The logs are kept in logs/TARGET.log.
#
#   cargo run --example seeds && ./campaign.sh --seconds 1200 --lanes 2 [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
seconds=1200 lanes=2
while [[ "${1-}" == --* ]]; do
  case "$1" in
    --seconds) seconds="$2" ;;
    --lanes) lanes="$2" ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(basename -s .rs -a fuzz_targets/*.rs)
export RUSTC_BOOTSTRAP=1
mkdir -p logs
for target in "${targets[@]}"; do cargo fuzz build -s none -O "$target"; done >&2

one() {
  local target="$1" seconds="$2" code=0
  TIMEFORMAT='cpu %U'
  { time cargo fuzz run -s none -O "$target" -- -max_len=65536 -timeout=20 -rss_limit_mb=2048 \
      -max_total_time="$seconds" -print_final_stats=1; } > "logs/$target.log" 2>&1 || code=$?
  local log="logs/$target.log"
  printf '%s,%s,%s,%s,%s,%s\n' "$target" "$code" \
    "$(awk '/number_of_executed_units/ {print $2}' "$log")" "$(awk '/^cpu / {print $2}' "$log" | tail -1)" \
    "$(grep -ao 'cov: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)" "$(find "corpus/$target" -type f | wc -l)"
}
export -f one
echo "target,exit,executions,cpu_seconds,edges,inputs"
printf '%s\n' "${targets[@]}" | xargs -P "$lanes" -I{} bash -c "one {} $seconds"
