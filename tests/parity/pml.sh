#!/bin/bash
# Method pairwise without priors against lavaan's pairwise likelihood (PML) of ordered items in three groups: n = 5, k = 2.
Rscript -e "quit(status = !requireNamespace('lavaan', quietly = TRUE))" >/dev/null 2>&1 ||
  { echo "SKIP: R package lavaan is not installed (tools/setup.sh test)"; exit 77; }
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
blica=$BLICA_BUILD/blica
"$blica" simulate --variables 5 --sources 2 --segments 3 --levels 3 --samples 600 --mixing-range 1.5 --seed 6 --out "$folder" --quiet &&
  "$blica" fit "$folder/data.csv" --ordinal --sources 2 --method pairwise --prior none --tolerance 1e-9 \
    --out "$folder/fit.json" --quiet || exit 1
/usr/bin/python3 - "$folder" <<'P' || exit 1
import csv, json, math, sys
folder = sys.argv[1]
for name in ("fit", "model"):  # in lavaan's scale: variance 1 and mean 0 in the first group, noise 1, link 1
    m = json.load(open(f"{folder}/{name}.json"))
    sd = [math.sqrt(v) for v in m["variances"][0]]
    a = [[math.sqrt(m["link"]) * x * s for x, s in zip(row, sd)] for row in m["mixing"]]
    rows = [("loading", i + 1, j + 1, a[i][j]) for i in range(5) for j in range(2)]
    rows += [("variance", s + 1, j + 1, m["variances"][s][j] / sd[j] ** 2) for s in range(3) for j in range(2)]
    rows += [("mean", s + 1, j + 1, (m["means"][s][j] - m["means"][0][j]) / sd[j]) for s in range(3) for j in range(2)]
    rows += [("cut", i + 1, l + 1, t - sum(x * y / s for x, y, s in zip(a[i], m["means"][0], sd)))
             for i in range(5) for l, t in enumerate(m["cuts"][i])]
    csv.writer(open(f"{folder}/{name}.csv", "w")).writerows([("what", "i", "j", "value")] + rows)
P
Rscript --vanilla "$BLICA_SOURCE/tests/parity/pml.R" "$folder"
