#!/bin/bash
# What `blica assess` says where something is wrong with a fit or its data, or where nothing is: for each case, how many of SETS
# data sets got which answers (design change fit axes), the mean of the expected MCS and that of the actual one.
# Usage: certified.sh BLICA SETS [CASE ...]; what it printed is in bench/results/inference.md. bfi needs R's psychTools.
set -e
blica=$(readlink -f "$1"); sets=$2; shift 2
folder=$(mktemp -d); trap 'rm -r "$folder"' EXIT; cd "$folder"
export OPENBLAS_NUM_THREADS=1
cat >edit.py <<'P'
import csv, json, math, random, sys
what, seed = sys.argv[1], int(sys.argv[2])
random.seed(seed)
def table(path):
    head, *rows = csv.reader(open(path))
    return head, rows
def save(head, rows):
    csv.writer(open("d.csv", "w")).writerows([head] + rows)
if what == "random":
    m = json.load(open("m.json"))
    m["mixing"] = [[random.gauss(0, 1) for _ in row] for row in m["mixing"]]
    m["variances"] = [[random.lognormvariate(0, .7) for _ in row] for row in m["variances"]]
    json.dump(m, open("m.json", "w"))
elif what == "twice":
    head, rows = table("s/data.csv")
    save(head, [[r[0], r[0]] + r[2:] for r in rows])
elif what == "unasked":  # two items of each of three groups of segments
    head, rows = table("s/data.csv")
    segments = sorted({r[-1] for r in rows})
    save(head, [["" if i // 2 == segments.index(r[-1]) % 3 and i < 6 else v for i, v in enumerate(r)] for r in rows])
elif what == "half":
    head, rows = table("s/data.csv")
    save(head, [[v if random.random() < .5 else "" for v in r[:-1]] + r[-1:] for r in rows])
elif what == "shuffled":
    head, rows = table("bfi.csv")
    groups = [r[-1] for r in rows]
    random.shuffle(groups)
    save(head, [r[:-1] + [g] for r, g in zip(rows, groups)])
elif what in ("rare", "dif", "still"):  # rows of their own: no change (rare, still), a cut of x3 shifted in one segment (dif)
    n, k, u, N = 8, 2, 12, 300
    A = [[random.gauss(0, 1) for _ in range(k)] for _ in range(n)]
    t = [random.gauss(0, 2 if what == "rare" else .5) * 1.6 for _ in range(n)]
    rows = []
    for s in range(u):
        sd = [1 if what != "dif" else random.uniform(.5, 2) for _ in range(k)]
        for _ in range(N):
            z = [d * random.gauss(0, 1) for d in sd]
            y = [sum(a * b for a, b in zip(row, z)) + 1.6 * random.gauss(0, 1) - c for row, c in zip(A, t)]
            y[2] += 1.2 if what == "dif" and s == 4 else 0
            rows.append([int(v > 0) for v in y] + [s])
    save([f"x{i}" for i in range(n)] + ["segment"], rows)
elif what == "chain":
    n, k, f = 8, 2, .95
    A = [[random.gauss(0, 1) for _ in range(k)] for _ in range(n)]
    z, rows = [random.gauss(0, 1) for _ in range(k)], []
    for r in range(1500):
        z = [f * v + math.sqrt(1 - f * f) * random.gauss(0, 1) for v in z]
        rows.append([int(sum(a * b for a, b in zip(row, z)) + 1.6 * random.gauss(0, 1) > 0) for row in A] + [r // 100])
    save([f"x{i}" for i in range(n)] + ["segment"], rows)
P
simulate() { "$blica" simulate --variables 8 --sources 3 --segments 12 --samples 400 --seed "$1" --out "${2:-s}" --quiet; }
fit() { "$blica" fit "$1" --sources "$2" --threads 1 --out m.json --quiet "${@:3}" >/dev/null 2>&1 || [ -e m.json ]; }
data() { # CASE SEED: d.csv and m.json
  rm -f m.json d.csv
  case $1 in
  good) simulate "$2"; cp s/data.csv d.csv; fit d.csv 3 ;;
  random) simulate "$2"; cp s/data.csv d.csv; fit d.csv 3; /usr/bin/python3 edit.py random "$2" ;;
  stopped) simulate "$2"; cp s/data.csv d.csv; fit d.csv 3 --max-iterations 1 ;;
  other) simulate "$2"; fit s/data.csv 3; simulate $(($2 + 1000)) t; cp t/data.csv d.csv ;;
  few) simulate "$2"; cp s/data.csv d.csv; fit d.csv 2 ;;
  twice | unasked | half) simulate "$2"; /usr/bin/python3 edit.py "$1" "$2"; fit d.csv 3 ;;
  shuffled) /usr/bin/python3 edit.py shuffled "$2"; fit d.csv 5 --ordinal ;;
  *) /usr/bin/python3 edit.py "$1" "$2"; fit d.csv 2 ;;
  esac
}
actual() { # the MCS of m.json with the truth, where there is one
  case $1 in
  good | random | stopped | twice | unasked | half) "$blica" compare m.json s/model.json --json 2>/dev/null |
    /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["mcs"])' ;;
  *) echo nan ;;
  esac
}
for case in "${@:-good random stopped other few twice unasked shuffled still rare half chain dif}"; do
  for one in $case; do
    if [ "$one" = shuffled ] && [ ! -e bfi.csv ]; then
      Rscript --vanilla -e 'library(psychTools); x <- bfi[1:25]; write.csv(cbind(x, segment = bfi$education)[!is.na(bfi$education), ], "bfi.csv",
        row.names = FALSE, quote = FALSE, na = "")' >/dev/null
    fi
    for seed in $(seq "$sets"); do
      data "$one" "$seed"
      "$blica" assess m.json d.csv --bootstrap none --threads 1 --out a.json >/dev/null 2>&1 || { echo "failed nan nan nan"; continue; }
      /usr/bin/python3 -c 'import json, sys
r = json.load(open("a.json")); nan = float("nan")
print("-".join(r["verdict"].values()), r["expected_mcs"] or nan, sys.argv[1], r["change"]["p"] if r["change"]["p"] is not None else nan)' "$(actual "$one")"
    done | /usr/bin/python3 -c 'import sys, collections
rows = [line.split() for line in sys.stdin]
mean = lambda x: sum(x) / len(x) if x else float("nan")
known = lambda c: [float(r[c]) for r in rows if r[c] != "nan"]
print(sys.argv[1] + ":", ", ".join(f"{a} {c}" for a, c in collections.Counter(r[0] for r in rows).most_common()),
      f"; expected {mean(known(1)):.3f}, actual {mean(known(2)):.3f}, change p <= .05 in {sum(p <= .05 for p in known(3))}")' "$one"
  done
done
