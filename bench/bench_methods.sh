#!/bin/bash
# MCS and CPU seconds of every method on the shared data sets, side by side, as a Markdown table.
#   bash bench/bench_methods.sh [build folder] [seconds that one fit may take] [data sets, as in 'n6_*']
build=${1:-build/release} limit=${2:-120} sets=${3:-n*_s1}
cd "$(dirname "$0")/.." || exit 1
blica=$build/blica data=../shared/data
[ -d "$data" ] || { echo "the data sets in $data are not there"; exit 1; }
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
methods=$("$blica" fit - --sources 1 --method '?' --out "$work/none" 2>&1 </dev/null |
  grep -oE 'give .*' | sed -E 's/^give //; s/,| or / /g; s/\.$//')
[ -n "$methods" ] || { echo "the methods could not be listed"; exit 1; }

one() { # METHOD DATA SOURCES TRUTH -> "MCS (CPU seconds)"
  local code=0 TIMEFORMAT=%U
  { time "$blica" fit "$2" --segment-column last --header no --sources "$3" --method "$1" --max-seconds "$limit" --quiet \
    --out "$work/model.json" --threads 1 2>"$work/error" >/dev/null; } 2>"$work/seconds" || code=$?
  case $code in 0 | 4) ;; *) echo "failed: $(head -c 60 "$work/error")"; return ;; esac
  mcs=$("$blica" compare "$4" "$work/model.json" --json | grep -oE '"mcs": *[0-9.e-]+' | grep -oE '[0-9.e-]+$')
  seconds=$(tail -1 "$work/seconds") # of one thread, reading the data included
  printf '%.3f (%.2g s%s)' "$mcs" "$seconds" "$([ $code = 4 ] && echo ' *')"
}

row() { # NAME DATA SOURCES TRUTH
  printf '| %s |' "$1"
  for method in $methods; do printf ' %s |' "$(one "$method" "$2" "$3" "$4")"; done
  echo
}

printf '| data, 40 segments |'; for method in $methods; do printf ' %s |' "$method"; done; echo
printf '|---|'; for method in $methods; do printf -- '---|'; done; echo
for truth in "$data"/authors/$sets*_A.csv; do
  name=$(basename "$truth" _A.csv)
  k=${name#*_nz}; k=${k%%_*}
  row "$name" "${truth%_A.csv}.csv.gz" "$k" "$truth"
done
[ "$sets" = 'n*_s1' ] && row "data_5_40_1000_1" "$data/ivae/data_5_40_1000_1.csv" 5 "$data/ivae/mix_5_40_1000_1.csv"
echo
echo "MCS (CPU seconds of one thread, default settings, reading included; * not converged or out of its $limit s)."
