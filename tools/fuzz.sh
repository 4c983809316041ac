#!/usr/bin/env bash
# fuzz.sh SECONDS [TARGET ...]: runs each fuzz target of build/fuzz for that long, two at a time (or JOBS), from its seeds, from what
# earlier runs found (build/fuzz/corpus) and from the inputs that once broke it. Prints a table and fails when a target
# broke; the input is then in build/fuzz/broken/TARGET. Executions of all runs add up in build/fuzz/executions.tsv.
set -eu
cd "$(dirname "$0")/.."
build=$PWD/build/fuzz seconds=${1:-60}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $(cd tests/fuzz && ls fuzz_*.c | sed 's/fuzz_//; s/\.c//')
export OPENBLAS_NUM_THREADS=1 ASAN_OPTIONS=quarantine_size_mb=16:detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS=suppressions=$PWD/tools/lsan.supp:print_suppressions=0

run() {
  local name=$1 seconds=$2 options=()
  mkdir -p "$build/corpus/$name" "$build/broken/$name" "$build/log"
  case $name in model | report) options+=("-dict=$PWD/tests/fuzz/json.dict") ;; esac
  case $name in survey) export ASAN_OPTIONS=$ASAN_OPTIONS:intercept_strndup=0 ;; esac # names without an end by libreadstat: docs/trust.md
  local inputs=()
  for folder in "tests/fuzz/seeds/$name" "tests/fuzz/crashes/$name"; do [ ! -d "$folder" ] || inputs+=("$folder"); done
  nice -n 10 "$build/fuzz_$name" -max_total_time="$seconds" -max_len=4096 -timeout=20 -report_slow_units=20 -rss_limit_mb=2048 -malloc_limit_mb=256 \
    -print_final_stats=1 -artifact_prefix="$build/broken/$name/" "${options[@]}" "$build/corpus/$name" "${inputs[@]}" \
    >"$build/log/$name" 2>&1 || true
  local count rate
  count=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/log/$name")
  rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$build/log/$name")
  printf '%s\t%s\n' "$name" "${count:-0}" >>"$build/executions.tsv"
  printf '%-14s %12s %10s %8s %8s\n' "$name" "${count:-?}" "${rate:-?}" "$(ls "$build/corpus/$name" | wc -l)" "$(ls "$build/broken/$name" | wc -l)"
}
export -f run
export build
printf '%-14s %12s %10s %8s %8s\n' target executions exec/s corpus broken
printf '%s\n' "$@" | xargs -P "${JOBS:-2}" -I NAME bash -c 'run NAME '"$seconds"
awk -F '\t' '{all += $2} END {printf "all runs so far: %d executions\n", all}' "$build/executions.tsv"
broken=$(find "$build/broken" -type f | wc -l)
[ "$broken" = 0 ] || { echo "$broken inputs broke a target:"; find "$build/broken" -type f; exit 1; }
