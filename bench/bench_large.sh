#!/bin/bash
# bench_large.sh [N...]: fits of many variables (default 1000 2000 5000; k = 10, u = 40, 1000 rows per segment, one start): seconds
# of counting and of the fit, processor seconds, peak memory, and the mean cosine similarity with the true mixing matrix. n = 5000
# takes 9 GB of memory and 400 MB of disk. BLICA names the program (build/release/blica), METHOD the method (auto).
set -euo pipefail
[ $# -gt 0 ] || set -- 1000 2000 5000
blica=${BLICA:-$(cd "$(dirname "$0")/.." && pwd)/build/release/blica}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
echo "| n | count | iterations | total s | cpu s | peak MB | MCS |"
echo "|---|---|---|---|---|---|---|"
for n; do
  "$blica" simulate --variables "$n" --sources 10 --segments 40 --samples 1000 --seed 1 --out "$work" --quiet
  /usr/bin/time -o "$work/count_time" -f "%e" "$blica" count "$work/data.csv" --out "$work/counts.npz" --quiet
  rm "$work/counts.npz"
  /usr/bin/time -o "$work/time" -f "%e %U %S %M" "$blica" fit "$work/data.csv" --sources 10 --starts 1 ${METHOD:+--method "$METHOD"} --out "$work/fit.json" --quiet
  "$blica" compare "$work/fit.json" "$work/model.json" --json > "$work/compare.json"
  jq -r -n --slurpfile m "$work/fit.json" --slurpfile c "$work/compare.json" --rawfile t "$work/time" --rawfile r "$work/count_time" --arg n "$n" '
    def round(d): . * d | round / d;
    $m[0].fit as $f | ($t | [splits("[ \n]")] | map(select(. != "") | tonumber)) as $t |
    "| \($n) | \($r | tonumber | round(10)) | \($f.iterations) | \($t[0]) | \($t[1] + $t[2] | round(10)) | \($t[3] / 1000 | round(1)) | \($c[0].mcs | round(10000)) |"'
done
