#!/usr/bin/env bats
# blica loglik and blica sources
load helpers

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

simulated() {
  run_code 0 simulate --variables 4 --sources "$1" --segments 3 --samples 300 --seed 5 --out d
}

@test "loglik agrees between engines within the stated errors, and adds up over segments" {
  simulated 2
  run_code 0 loglik d/model.json d/data.csv --engine grid --json
  echo "$out" >grid.json
  run_code 0 loglik d/model.json d/data.csv --engine lattice --error 0.01 --json
  echo "$out" >lattice.json
  /usr/bin/python3 - <<'P'
import json
g, l = json.load(open("grid.json")), json.load(open("lattice.json"))
assert g["rows"] == 900 and len(g["segments"]) == 3 and g["engine"] == "grid" and l["engine"] == "lattice"
assert abs(sum(s["loglik"] for s in g["segments"]) - g["loglik"]) < 1e-9
assert 0 < g["error"] < 1e-4 and 0 < l["error"] < 0.05
assert abs(g["loglik"] - l["loglik"]) <= g["error"] + l["error"], (g["loglik"], l["loglik"], l["error"])
for a, b in zip(g["segments"], l["segments"]):
    assert a["segment"] == b["segment"] and abs(a["loglik"] - b["loglik"]) <= a["error"] + b["error"]
P
}

@test "columns may come in any order; missing values are integrated out" {
  simulated 2
  run_code 0 loglik d/model.json d/data.csv --json
  echo "$out" >a.json
  awk -F, -v OFS=, '{print $3,$1,$5,$4,$2}' d/data.csv >turned.csv
  run_code 0 loglik d/model.json turned.csv --json
  echo "$out" >b.json
  # rows without any value add nothing
  { cat d/data.csv; echo "NA,NA,NA,NA,1"; echo ",,,,2"; } >padded.csv
  run_code 0 loglik d/model.json padded.csv --json
  echo "$out" >c.json
  # P(x1=1) + P(x1=0) = 1, and P(x1,x2) sums to it
  printf 'x1,x2,x3,x4,segment\n1,NA,NA,NA,2\n' >one.csv
  printf 'x1,x2,x3,x4,segment\n0,NA,NA,NA,2\n' >zero.csv
  for f in one zero; do
    run_code 0 loglik d/model.json $f.csv --json
    echo "$out" >$f.json
  done
  for x in 00 01 10 11; do
    printf 'x1,x2,x3,x4,segment\n1,NA,%s,%s,2\n' ${x:0:1} ${x:1:1} >p.csv
    run_code 0 loglik d/model.json p.csv --json
    echo "$out" >p$x.json
  done
  /usr/bin/python3 - <<'P'
import json, math
v = lambda f: json.load(open(f + ".json"))["loglik"]
assert abs(v("a") - v("b")) < 1e-6 and abs(v("a") - v("c")) < 1e-9
assert abs(math.exp(v("one")) + math.exp(v("zero")) - 1) < 1e-8
assert abs(sum(math.exp(v("p" + x)) for x in ("00", "01", "10", "11")) - math.exp(v("one"))) < 1e-8
P
}

@test "the same bits on any number of threads" {
  run_code 0 simulate --variables 7 --sources 5 --segments 3 --samples 300 --seed 5 --out d
  run_code 0 loglik d/model.json d/data.csv --threads 1 --json
  one=$out
  run_code 0 loglik d/model.json d/data.csv --threads 3 --json
  [ "$one" = "$out" ]
  run_code 0 sources d/model.json d/data.csv --threads 1 --out a.csv
  run_code 0 sources d/model.json d/data.csv --threads 3 --out b.csv
  cmp a.csv b.csv
}

@test "bad input: exit 3, the thing is named, nothing is written" {
  simulated 2
  sed '1s/x2/height/' d/data.csv >other.csv
  run_code 3 loglik d/model.json other.csv
  says "'x2'"
  sed 's/,3$/,9/' d/data.csv >unknown.csv
  run_code 3 loglik d/model.json unknown.csv
  says "segment '9'"
  run_code 3 sources d/model.json unknown.csv --out s.csv
  says "segment '9'"
  [ ! -e s.csv ]
  run_code 0 sources d/model.json unknown.csv --segment unknown --out s.csv
  [ "$(wc -l <s.csv)" -eq 901 ]
  rm s.csv
  /usr/bin/python3 -c 'import json; m = json.load(open("d/model.json")); m["variances"][1][0] = -1.0; json.dump(m, open("negative.json", "w"))'
  run_code 3 loglik negative.json d/data.csv
  run_code 3 sources negative.json d/data.csv --out s.csv
  [ ! -e s.csv ]
  run_code 0 simulate --variables 6 --sources 5 --segments 2 --samples 20 --out big
  run_code 3 loglik big/model.json big/data.csv --engine grid
  says "5"
  run_code 3 loglik missing.json d/data.csv
  run_code 3 loglik d/model.json missing.csv
}
