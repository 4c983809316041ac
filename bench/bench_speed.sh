#!/bin/bash
# User CPU seconds of one fit on one thread (reading and correlating included) over sizes, as a Markdown table.
#   bash bench/bench_speed.sh [build folder] ["n,k ..."] [METHOD ...]
# One data set each: u = 40, N = 1000, seed 101; three starts.
build=${1:-build/release} sizes=${2:-10,10 20,20 25,25 28,28 30,30 50,50 100,100 100,10 300,10 1000,10}
shift $(($# < 2 ? $# : 2))
methods=${*:-auto blica}
cd "$(dirname "$0")/.." || exit 1
blica=$build/blica
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1
TIMEFORMAT=%U
printf '| n | k |'; for method in $methods; do printf ' %s: s | 1 - MCS | evaluations of the starts |' "$method"; done; echo
printf '|---|---|'; for method in $methods; do printf -- '---|---|---|'; done; echo
for size in $sizes; do
  n=${size%,*} k=${size#*,}
  "$blica" simulate --variables "$n" --sources "$k" --segments 40 --samples 1000 --seed 101 --out "$work/d" --quiet
  "$blica" count "$work/d/data.csv" --out "$work/c.npz" --quiet
  printf '| %s | %s |' "$n" "$k"
  for method in $methods; do
    { time "$blica" fit "$work/c.npz" --sources "$k" --method "$method" --threads 1 --quiet --out "$work/m.json"; } \
      2>"$work/seconds"
    error=$("$blica" compare "$work/d/model.json" "$work/m.json" --json | jq '1 - .mcs')
    printf ' %s | %.4f | %s |' "$(tail -1 "$work/seconds")" "$error" \
      "$(jq -r '[.fit.starts[].evaluations] | join(", ")' "$work/m.json")"
  done
  echo
done
