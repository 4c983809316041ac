#!/bin/bash
# mle_levels.sh [PROGRAM [SETS]]: the default and `mle` on items with three levels: n = 4, k = 2, 10 segments of 300 rows,
# intercepts of sd 0.5, seeds 1, 2, .... Prints 1 - MCS and the log-likelihood of each set, less that of the true model, and means.
set -e
blica=${1:-build/release/blica} sets=${2:-10}
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
miss() { "$blica" compare "$folder/model.json" "$folder/$1.json" | sed -n '1s/.*1-MCS \([^)]*\)).*/\1/p'; }
likelihood() { "$blica" loglik "$folder/$1.json" "$folder/data.csv" --json --quiet | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["loglik"])'; }
echo "| seed | default: 1 - MCS | mle | default: log-likelihood above the truth's | mle |"
echo "|---|---|---|---|---|"
for seed in $(seq "$sets"); do
  "$blica" simulate --variables 4 --sources 2 --segments 10 --samples 300 --levels 3 --intercepts 0.5 --seed "$seed" --out "$folder" --quiet
  for method in auto mle; do
    "$blica" fit "$folder/data.csv" --ordinal --sources 2 --method $method --threads 1 --out "$folder/$method.json" --quiet || [ $? = 4 ]
  done
  echo "$seed $(miss auto) $(miss mle) $(likelihood auto) $(likelihood mle) $(likelihood model)"
done | awk '{ printf "| %d | %.4f | %.4f | %.1f | %.1f |\n", $1, $2, $3, $4 - $6, $5 - $6; a += $2; b += $3; c += $4 - $6; d += $5 - $6 }
            END { printf "| mean | %.4f | %.4f | %.1f | %.1f |\n", a / NR, b / NR, c / NR, d / NR }'
