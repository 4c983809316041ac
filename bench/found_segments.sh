#!/bin/bash
# Segments found in rows, and their assessment. 2000 rows of 6 items, 2 sources; kinds: independent rows, autoregressive
# sources (phi), and states that last 100 rows on average, with standard deviations between LOW and HIGH. Prints how often
# `blica assess` finds change (p at most .05) among three states that `blica segment` found, with --split and without, and
# whether `blica segment` by itself finds one state and warns of dependent rows.
# Usage: found_segments.sh BLICA SETS; what it printed is in bench/results/inference.md and segment.md.
set -e
blica=$(readlink -f "$1"); sets=$2
folder=$(mktemp -d); trap 'rm -r "$folder"' EXIT; cd "$folder"
cat >make.py <<'P'
import math, random, sys
kind, value, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
random.seed(seed)
phi = float(value) if kind == "dependent" else 0
low, high = map(float, value.split("-")) if kind == "states" else (1, 1)
n, k, S = 6, 2, 4
A = [[random.gauss(0, 1) for _ in range(k)] for _ in range(n)]
sd = [[random.uniform(low, high) for _ in range(k)] for _ in range(S)]
state, z = 0, [random.gauss(0, 1) for _ in range(k)]
print(",".join(f"x{i}" for i in range(n)))
for row in range(2000):
    if random.random() < .01: state = random.randrange(S)
    z = [phi * v + math.sqrt(1 - phi * phi) * random.gauss(0, 1) for v in z]
    y = [d * v for d, v in zip(sd[state], z)]
    print(",".join(str(int(sum(a * b for a, b in zip(r, y)) + 1.6 * random.gauss(0, 1) > 0)) for r in A))
P
answer() { # LABELS: change among them, as yes, weak, no or unknown
  "$blica" fit d.csv --segment-file "$1" --sources 2 --threads 1 --out m.json --quiet 2>/dev/null >&2 || { echo none; return; }
  "$blica" assess m.json d.csv --segment-file "$1" --bootstrap none --threads 1 --out a.json >/dev/null 2>&1 || { echo none; return; }
  /usr/bin/python3 -c 'import json; print(json.load(open("a.json"))["verdict"]["change"])'
}
tried() { # KIND VALUE SPLIT
  for seed in $(seq "$sets"); do
    /usr/bin/python3 make.py "$1" "$2" "$seed" >d.csv
    "$blica" segment d.csv --sources 2 --states 3 --split "$3" --threads 1 --out s.csv --quiet 2>/dev/null
    answer s.csv
  done | sort | uniq -c | awk -v what="$1 $2, three states, split $3:" '{ what = what " " $2 " " $1 } END { print what }'
}
chosen() { # KIND VALUE
  for seed in $(seq "$sets"); do
    /usr/bin/python3 make.py "$1" "$2" "$seed" >d.csv
    "$blica" segment d.csv --sources 2 --threads 1 --out s.csv --json 2>log | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["states"], end=" ")'
    grep -c 'depend on those before' log || true
  done | sort | uniq -c | awk -v what="$1 $2, auto:" '{ what = what "; " $2 " states " ($3 ? "with" : "without") " a warning " $1 } END { print what }'
}
tried independent 0 none
for split in auto 50; do tried independent 0 "$split"; done
for split in auto 50; do tried states 0.5-3 "$split"; tried states 0.8-2 "$split"; done
for phi in 0.5 0.8; do for split in auto 50; do tried dependent $phi "$split"; done; done
for phi in 0 0.5 0.8 0.95; do chosen dependent $phi; done
chosen states 0.5-3
