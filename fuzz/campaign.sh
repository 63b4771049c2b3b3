#!/usr/bin/env bash
# Runs all or the named targets for a number of CPU seconds each, several in parallel, and prints one CSV line per target:
# target, exit code, executions, CPU seconds, edges covered, inputs kept. Exit code 0 means no finding; findings are saved in
# artifacts/TARGET. A target runs in slices of at most five minutes, so a busy machine takes longer but gives it the same
# CPU time. Logs are kept in logs/TARGET.log.
#
# With --address they run under AddressSanitizer; it multiplies memory, so each may take 4 GB then.
#
#   cargo run --example seeds && ./campaign.sh --cpu-seconds 1200 --lanes 2 [--address] [TARGET...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cpu_seconds=1200 lanes=2 sanitizer=none
export most_mb=2048
while [[ "${1-}" == --* ]]; do
  case "$1" in
    --cpu-seconds) cpu_seconds="$2" ;;
    --lanes) lanes="$2" ;;
    --address) sanitizer=address most_mb=4096; shift; continue ;;
    *) echo "unknown option $1" >&2; exit 2 ;;
  esac
  shift 2
done
targets=("$@")
[[ ${#targets[@]} -gt 0 ]] || mapfile -t targets < <(basename -s .rs -a fuzz_targets/*.rs)
export RUSTC_BOOTSTRAP=1
mkdir -p logs
for target in "${targets[@]}"; do cargo fuzz build -s "$sanitizer" -O "$target"; done >&2
host="$(rustc -vV | awk '/^host:/ {print $2}')"
export built="${CARGO_TARGET_DIR:-target}/$host/release"

one() {
  local target="$1" budget="$2" code=0 log="logs/$1.log"
  mkdir -p "corpus/$target" "artifacts/$target"
  : > "$log"
  used() { awk '/^cpu / {sum += $2 + $3} END {printf "%d", sum}' "$log"; }
  TIMEFORMAT='cpu %U %S'
  while (( code == 0 && $(used) < budget )); do
    local left=$(( budget - $(used) + 1 ))
    { time "$built/$target" "corpus/$target" -artifact_prefix="artifacts/$target/" -max_len=65536 -timeout=20 \
        -rss_limit_mb="$most_mb" -max_total_time=$(( left < 300 ? left : 300 )) -print_final_stats=1; } >> "$log" 2>&1 || code=$?
  done
  printf '%s,%s,%s,%s,%s,%s\n' "$target" "$code" \
    "$(awk '/number_of_executed_units/ {sum += $2} END {print sum}' "$log")" "$(used)" \
    "$(grep -ao 'cov: [0-9]*' "$log" | tail -1 | cut -d' ' -f2)" "$(find "corpus/$target" -type f | wc -l)"
}
export -f one
echo "target,exit,executions,cpu_seconds,edges,inputs"
printf '%s\n' "${targets[@]}" | xargs -P "$lanes" -I{} bash -c "one {} $cpu_seconds"
