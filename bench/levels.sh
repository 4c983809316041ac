#!/bin/bash
# levels.sh [PROGRAM]: mean 1 - MCS of the default method on items with levels and on the same latent data cut at 0.
# Each row: variables (= sources), segments, rows per segment, levels, sets (seeds 1, 2, ...). Prints a Markdown table.
set -e
blica=${1:-build/release/blica}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
miss() { # levels flags...
  "$blica" simulate --variables $n --sources $n --segments $u --samples $N --seed $seed --levels $1 --out "$folder" --quiet
  "$blica" fit "$folder/data.csv" --sources $n --threads 1 ${@:2} --out "$folder/fit.json" >/dev/null 2>&1 || true
  "$blica" compare "$folder/model.json" "$folder/fit.json" | sed -n '1s/.*1-MCS \([^)]*\)).*/\1/p'
}
echo "| n = k | segments | rows each | levels | two levels | L levels |"
echo "|---|---|---|---|---|---|"
while read -r n u N L sets; do
  two=0 more=0
  for seed in $(seq "$sets"); do
    two="$two + $(miss 2)" more="$more + $(miss $L --ordinal)"
  done
  awk "BEGIN { printf \"| %d | %d | %d | %d | %.4f | %.4f |\\n\", $n, $u, $N, $L, ($two) / $sets, ($more) / $sets }"
done <<END
3 40 1000 3 30
6 40 1000 5 30
6 40 100 5 30
END
