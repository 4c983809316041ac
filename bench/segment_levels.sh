#!/bin/sh
# Segments found in items with four levels, and in the same rows cut in two at the middle, over seeds FIRST to LAST.
# Usage: segment_levels.sh BLICA [FIRST [LAST]]
# 6 items, 2 sources, 3 states in turn of 200 rows each, 3000 rows. Prints states, adjusted Rand index and 1 - MCS; then
# the number of states found in 2000 rows of one state.
set -e
blica=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
seed=${2:-1}
while [ "$seed" -le "${3:-5}" ]; do
  "$blica" simulate --variables 6 --sources 2 --segments 3 --samples 1000 --levels 4 --seed "$seed" --out d --quiet
  /usr/bin/python3 - <<'P'
import csv
head, *body = csv.reader(open("d/data.csv"))
by = {}
for r in body:
    by.setdefault(r[-1], []).append(r[:-1])
low = sorted({v for r in body for v in r[:-1]})[:2]
with open("four.csv", "w") as four, open("two.csv", "w") as two, open("truth", "w") as truth:
    for out in four, two:
        out.write(",".join(head[:-1]) + "\n")
    for turn in range(5):
        for name in sorted(by):
            for r in by[name][turn * 200:turn * 200 + 200]:
                four.write(",".join(r) + "\n")
                two.write(",".join("0" if v in low else "1" for v in r) + "\n")
                truth.write(name + "\n")
P
  for kind in four two; do
    "$blica" segment $kind.csv --ordinal --sources 2 --max-states 6 --threads 1 --out s.csv --model m.json --quiet
    error=$("$blica" compare m.json d/model.json --json | /usr/bin/python3 -c 'import json, sys; print("%.4f" % (1 - json.load(sys.stdin)["mcs"]))')
    /usr/bin/python3 - "$seed" $kind "$error" <<'P'
import sys
from collections import Counter
found, truth = open("s.csv").read().split()[1:], open("truth").read().split()
pairs = lambda values: sum(v * (v - 1) / 2 for v in Counter(values).values())
both, a, b = pairs(zip(found, truth)), pairs(found), pairs(truth)
chance = a * b / pairs([0] * len(truth))
print("seed %s, %s levels: %d states, adjusted Rand index %.3f, 1-MCS %s"
      % (sys.argv[1], sys.argv[2], len(set(found)), (both - chance) / ((a + b) / 2 - chance), sys.argv[3]))
P
  done
  "$blica" simulate --variables 6 --sources 2 --segments 1 --samples 2000 --levels 4 --seed "$seed" --out e --quiet
  cut -d, -f1-6 e/data.csv > still.csv
  "$blica" segment still.csv --ordinal --sources 2 --max-states 6 --threads 1 --out s.csv --quiet 2>/dev/null
  echo "seed $seed, rows of one state: $(tail -n +2 s.csv | sort -u | wc -l) found"
  seed=$((seed + 1))
done
