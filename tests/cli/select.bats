#!/usr/bin/env bats
# blica select: simulated numbers of sources, no structure, psych's MAP, bad input.
load helpers

chosen() { echo "$out" | /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["sources"])'; }

@test "finds the number of sources, the same for any number of threads" {
  for k in 1 2; do
    "$BLICA" simulate --variables 7 --sources $k --segments 6 --samples 200 --seed 4 --out s$k --quiet
    run_code 0 select s$k/data.csv --sources 1:3 --folds 3 --references 20 --json --threads 1
    [ "$(chosen)" = $k ]
    echo "$out" | /usr/bin/python3 -c "import json, sys; assert json.load(sys.stdin)['chosen']['segments'] == $k"
  done
  one=$out
  run_code 0 select s2/data.csv --sources 1:3 --folds 3 --references 20 --json --threads 3
  [ "$out" = "$one" ]
}

@test "ordinal items: their number of sources, none when their levels are shuffled" {
  "$BLICA" simulate --variables 7 --sources 2 --segments 6 --samples 200 --levels 4 --seed 4 --out s --quiet
  run_code 0 select s/data.csv --ordinal --sources 1:3 --folds 3 --references 20 --json
  [ "$(chosen)" = 2 ]
  /usr/bin/python3 - <<'P'
import csv, random
random.seed(2)
rows = list(csv.reader(open("s/data.csv")))
by = {}
for row in rows[1:]: by.setdefault(row[-1], []).append(row[:-1])
with open("shuffled.csv", "w") as out:
    print(",".join(rows[0]), file=out)
    for name, part in by.items():
        columns = [random.sample(c, len(c)) for c in zip(*part)]
        for row in zip(*columns): print(",".join(row) + "," + name, file=out)
P
  run_code 0 select shuffled.csv --ordinal --sources 1:2 --json
  [ "$(chosen)" = 0 ]
}

@test "fair coins have no sources" {
  /usr/bin/python3 -c '
import random
random.seed(5)
print(",".join(f"x{i}" for i in range(8)) + ",segment")
for row in range(1200): print(",".join(random.choice("01") for _ in range(8)) + f",{row % 6}")' >coins.csv
  run_code 0 select coins.csv --sources 1:2 --json
  [ "$(chosen)" = 0 ]
  run_code 0 select coins.csv --sources 1:2
  [[ $out == "none: "* ]]
}

@test "bad input" {
  "$BLICA" simulate --variables 4 --sources 2 --segments 3 --samples 100 --out s --quiet
  run_code 3 select s/data.csv --sources 5:6
  says "at most 4"
  run_code 2 select s/data.csv --sources two
  says "LOW:HIGH"
  sed 's/,[0-9]*$/,one/; 1s/,one$/,segment/' s/data.csv >one.csv
  run_code 3 select one.csv
  says "one segment"
  run_code 3 select missing.csv
  "$BLICA" simulate --variables 3 --sources 1 --segments 2 --samples 100 --out t --quiet
  run_code 3 select t/data.csv --sources 3
  says "degrees of freedom"
  cut -d, -f2- t/data.csv >two.csv
  run_code 3 select two.csv --sources 1
  says "at least 3"
}
